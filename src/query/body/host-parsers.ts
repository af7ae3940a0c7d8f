import { Injectable, type OnModuleInit, SetMetadata } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

const READS_BODY = 'nest-agent-query:reads-body';

/** Where `@nestjs/platform-fastify` looks for a route's configuration; what its `RouteConfig` decorator sets. */
const FASTIFY_ROUTE_CONFIG = '__fastify_route_config__';

/** The route reads the request's body itself, as it arrives: the host's parsers must leave it alone. */
export const ReadsBody = (): MethodDecorator => (target, key, descriptor) => {
  SetMetadata(READS_BODY, true)(target, key, descriptor);
  SetMetadata(FASTIFY_ROUTE_CONFIG, { [READS_BODY]: true })(target, key, descriptor);
};

/** What is used of a layer of Express's router (npm `router` 2). */
interface Layer {
  handle: { (request: ExpressRequest, response: unknown, next: () => void): unknown; name: string };
  route?: { stack: { handle: object; method?: string }[] };
  match(path: string): boolean;
}

interface ExpressRequest {
  method: string;
  url: string;
}

interface FastifyRequest {
  headers: Record<string, string | undefined> | undefined;
}

interface FastifyRoute {
  config?: Record<string, unknown>;
  preParsing?: unknown;
  preValidation?: unknown;
}

/** The middleware of npm `body-parser`, which is what Express and Nest install. */
const PARSERS = new Set(['jsonParser', 'urlencodedParser', 'rawParser', 'textParser']);

/**
 * Keeps the host's body parsers away from routes marked `ReadsBody`. They would read the body whole, with limits that are
 * not ours, before a guard of the host has seen the request. Every other route is served as before.
 *
 * Nest copies a method's metadata to the function that it registers as the route's handler, on either adapter; by that
 * the routes are known whatever prefix and version the host gives them.
 */
@Injectable()
export class HostParsers implements OnModuleInit {
  constructor(private readonly adapterHost: HttpAdapterHost) {
    // Before the host's routes are registered, or Fastify would not show them.
    if (adapterHost.httpAdapter?.getType() === 'fastify') this.#exemptOnFastify();
  }

  /** By now the host's parsers and routes are in Express's stack. */
  onModuleInit(): void {
    if (this.adapterHost.httpAdapter?.getType() === 'express') this.#exemptOnExpress();
  }

  #exemptOnExpress(): void {
    const { router } = this.adapterHost.httpAdapter.getInstance<{ router: { stack: Layer[] } }>();
    const marked = router.stack.filter(({ route }) =>
      route?.stack.some(({ handle }) => Reflect.getMetadata(READS_BODY, handle) === true),
    );
    const isMarked = ({ method, url }: ExpressRequest) =>
      method === 'POST' && marked.some((layer) => layer.match(url.split('?', 1)[0]!));
    for (const layer of router.stack.filter(({ handle }) => PARSERS.has(handle.name))) {
      const parse = layer.handle;
      const parseUnlessMarked: Layer['handle'] = (request, response, next) =>
        isMarked(request) ? next() : parse(request, response, next);
      // Nest and others look for parsers by their name.
      layer.handle = Object.defineProperty(parseUnlessMarked, 'name', { value: parse.name });
    }
  }

  #exemptOnFastify(): void {
    const fastify = this.adapterHost.httpAdapter.getInstance<{
      addHook(name: 'onRoute', hook: (route: FastifyRoute) => void): void;
    }>();
    fastify.addHook('onRoute', (route) => {
      if (!route.config?.[READS_BODY]) return;
      // A request that seems to have no body is not parsed, whatever its content type is …
      route.preParsing = (
        request: FastifyRequest,
        _reply: unknown,
        payload: unknown,
        done: (...a: unknown[]) => void,
      ) => {
        request.headers = {
          'content-length': '0',
          'content-type': undefined,
          'transfer-encoding': undefined,
        };
        done(null, payload);
      };
      // … and the host's guards see it as it came.
      route.preValidation = (request: FastifyRequest, _reply: unknown, done: () => void) => {
        request.headers = undefined;
        done();
      };
    });
  }
}
