import type { IncomingMessage, Server, ServerResponse } from 'node:http';
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
  handle: { (request: IncomingMessage, response: unknown, next: () => void): unknown; name: string };
  route?: { stack: { handle: object; method?: string }[] };
  match(path: string): boolean;
}

interface FastifyRequest {
  headers: Record<string, string | undefined> | undefined;
}

interface FastifyRoute {
  url: string;
  config?: Record<string, unknown>;
  preParsing?: unknown;
  preValidation?: unknown;
}

/** The middleware of npm `body-parser`, which is what Express and Nest install. */
const PARSERS = new Set(['jsonParser', 'urlencodedParser', 'rawParser', 'textParser']);

/** Requests whose senders wait for `100 Continue`, and where it is to be sent. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Tells a sender who asked for it that its body is wanted (RFC 9110 §10.1.1). */
export function welcomeBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

/**
 * Keeps the host's hands off the bodies of routes marked `ReadsBody`. Its parsers would read them whole, with limits that
 * are not ours, before a guard of the host has seen the request; and Node would ask for a body with `100 Continue` that
 * is refused on its headers. Every other route is served as before.
 *
 * Nest copies a method's metadata to the function that it registers as the route's handler, on either adapter; by that
 * the routes are known whatever prefix and version the host gives them.
 */
@Injectable()
export class HostParsers implements OnModuleInit {
  /** The paths of marked routes on Fastify. */
  readonly #urls = new Set<string>();

  constructor(private readonly adapterHost: HttpAdapterHost) {
    // Before the host's routes are registered, or Fastify would not show them.
    if (this.#adapter === 'fastify') this.#exemptOnFastify();
  }

  /** By now the host's parsers and routes are in Express's stack. */
  onModuleInit(): void {
    if (this.#adapter === 'express') this.#welcome(this.#exemptOnExpress());
    if (this.#adapter === 'fastify') this.#welcome((path) => this.#urls.has(path));
  }

  /** Undefined in an application that serves no HTTP. */
  get #adapter(): string | undefined {
    return this.adapterHost.httpAdapter?.getType();
  }

  /** Returns whether a path is that of a marked route. */
  #exemptOnExpress(): (path: string) => boolean {
    const { router } = this.adapterHost.httpAdapter.getInstance<{ router: { stack: Layer[] } }>();
    const marked = router.stack.filter(({ route }) =>
      route?.stack.some(({ handle }) => Reflect.getMetadata(READS_BODY, handle) === true),
    );
    const isMarked = (path: string) => marked.some((layer) => layer.match(path));
    for (const layer of router.stack.filter(({ handle }) => PARSERS.has(handle.name))) {
      const parse = layer.handle;
      const parseUnlessMarked: Layer['handle'] = (request, response, next) =>
        request.method === 'POST' && isMarked(pathOf(request)) ? next() : parse(request, response, next);
      // Nest and others look for parsers by their name.
      layer.handle = Object.defineProperty(parseUnlessMarked, 'name', { value: parse.name });
    }
    return isMarked;
  }

  #exemptOnFastify(): void {
    const fastify = this.adapterHost.httpAdapter.getInstance<{
      addHook(name: 'onRoute', hook: (route: FastifyRoute) => void): void;
    }>();
    fastify.addHook('onRoute', (route) => {
      if (!route.config?.[READS_BODY]) return;
      this.#urls.add(route.url);
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

  /** Node welcomes every body by itself, unless somebody listens for those who ask. */
  #welcome(isMarked: (path: string) => boolean): void {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    // The host's own listener, or that of another module of ours, which knows all marked routes.
    if (server.listenerCount('checkContinue') > 0) return;
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      waiting.set(request, response);
      if (!isMarked(pathOf(request))) welcomeBody(request);
      server.emit('request', request, response);
    });
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0]!;
}
