import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Injectable, type OnModuleInit, SetMetadata } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

const UNPARSED_BODY = 'nest-agent-query:unparsed-body';

/** The metadata key of a route's configuration in `@nestjs/platform-fastify`, as its `RouteConfig` decorator sets it. */
const FASTIFY_ROUTE_CONFIG = '__fastify_route_config__';

/**
 * Marks a route whose bodies the host's parsers must not read: the route reads them itself, as they arrive, or ignores them. Many
 * clients send `Content-Type` without a body, which a parser would refuse.
 */
export const UnparsedBody = (): MethodDecorator => (target, key, descriptor) => {
  SetMetadata(UNPARSED_BODY, true)(target, key, descriptor);
  SetMetadata(FASTIFY_ROUTE_CONFIG, { [UNPARSED_BODY]: true })(target, key, descriptor);
};

/** The members that are used of a layer of Express's router (npm `router` 2). */
interface Layer {
  handle: { (request: IncomingMessage, response: unknown, next: () => void): unknown; name: string };
  route?: { stack: { handle: object; method?: string }[] };
  match(path: string): boolean;
}

/** The names of the middleware functions of npm `body-parser`, which Express and Nest install. */
const PARSER_NAMES = new Set(['jsonParser', 'urlencodedParser', 'rawParser', 'textParser']);

interface FastifyRequest {
  headers: Record<string, string | undefined> | undefined;
  raw: IncomingMessage;
}

interface FastifyRoute {
  url: string;
  method: string | string[];
  config?: Record<string, unknown>;
  preParsing?: unknown;
  preValidation?: unknown;
}

type PreParsing = (
  request: FastifyRequest,
  reply: unknown,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
) => void;

/** Fastify does not parse a request that seems to have no body, whatever its content type is. */
const hideBody: PreParsing = (request, _reply, payload, done) => {
  request.headers = { 'content-length': '0', 'content-type': undefined, 'transfer-encoding': undefined };
  done(null, payload);
};

/** The host's guards see the request's own headers again. */
const showBody = (request: FastifyRequest, _reply: unknown, done: () => void) => {
  request.headers = undefined;
  done();
};

/** For a route of the host, which may have the path of a marked route and another version. */
const continueBefore: PreParsing = ({ raw }, _reply, payload, done) => {
  sendContinue(raw);
  done(null, payload);
};

/** Requests whose senders wait for `100 Continue`, and the responses that send it. */
const awaitingContinue = new WeakMap<IncomingMessage, ServerResponse>();

/** Sends `100 Continue` if the sender waits for it before it sends its body (RFC 9110 §10.1.1). */
export function sendContinue(request: IncomingMessage): void {
  awaitingContinue.get(request)?.writeContinue();
  awaitingContinue.delete(request);
}

/**
 * Stops the host from reading the bodies of routes that are marked with `UnparsedBody`. Every other route is served as before.
 * The host's parsers would read such a body whole, with limits that are not ours, before a guard of the host has seen the
 * request. And Node would send `100 Continue` for a body that is refused because of its headers.
 *
 * Nest copies a method's metadata to the function that it registers as the route's handler, on both adapters. The marked
 * routes are found by this metadata, whatever prefix and version the host gives them.
 */
@Injectable()
export class HostParsers implements OnModuleInit {
  /** The paths of the marked routes on Fastify. */
  readonly #fastifyPaths = new Set<string>();
  /** @throws Error the application serves requests already */
  constructor(private readonly adapterHost: HttpAdapterHost) {
    // Nest registers no routes for such a module and calls none of its hooks: the endpoint would be missing, and the store would
    // not be recovered.
    if (adapterHost.listening) {
      throw new Error(
        'QueryModule cannot be loaded by LazyModuleLoader, because Nest registers no routes for such a module. Import it in a ' +
          'module of the application. Its handler may load other modules lazily.',
      );
    }
    // Fastify calls the hook only for routes that are registered after it.
    if (adapterHost.httpAdapter) this.#exemptOnFastify();
    // Nest's testing module creates the providers before the application. Versions of Nest before 11.1 have no `init$`.
    else (adapterHost as Partial<HttpAdapterHost>).init$?.subscribe(() => this.#exemptOnFastify());
  }

  /** Called by Nest when the host's parsers and routes are in Express's stack. */
  onModuleInit(): void {
    if (this.#adapter === 'express') this.#answerExpectContinue(this.#exemptOnExpress());
    if (this.#adapter === 'fastify')
      this.#answerExpectContinue((request) => this.#fastifyPaths.has(pathOf(request)));
  }

  /** Undefined in an application that serves no HTTP. */
  get #adapter(): string | undefined {
    return (this.adapterHost as Partial<HttpAdapterHost>).httpAdapter?.getType();
  }

  /** Returns a function that tells whether a request is for a marked route. */
  #exemptOnExpress(): (request: IncomingMessage) => boolean {
    const { router } = this.adapterHost.httpAdapter.getInstance<{ router: { stack: Layer[] } }>();
    const marked = router.stack.filter(({ route }) =>
      route?.stack.some(({ handle }) => Reflect.getMetadata(UNPARSED_BODY, handle) === true),
    );
    const isMarked = (request: IncomingMessage) => {
      const [path, method] = [pathOf(request), request.method?.toLowerCase()];
      return marked.some(
        (layer) => layer.match(path) && layer.route!.stack.some((handler) => handler.method === method),
      );
    };
    for (const layer of router.stack.filter(({ handle }) => PARSER_NAMES.has(handle.name))) {
      const parse = layer.handle;
      const parseUnlessMarked: Layer['handle'] = (request, response, next) =>
        isMarked(request) ? next() : parse(request, response, next);
      // Nest and other packages find parsers by their names.
      layer.handle = Object.defineProperty(parseUnlessMarked, 'name', { value: parse.name });
    }
    return isMarked;
  }

  #exemptOnFastify(): void {
    if (this.#adapter !== 'fastify') return;
    const fastify = this.adapterHost.httpAdapter.getInstance<{
      addHook(name: 'onRoute', hook: (route: FastifyRoute) => void): void;
    }>();
    fastify.addHook('onRoute', (route) => {
      if (route.config?.[UNPARSED_BODY]) {
        this.#fastifyPaths.add(route.url);
        route.preParsing = hideBody;
        route.preValidation = showBody;
      } else if ([route.method].flat().includes('POST')) {
        route.preParsing = [continueBefore, route.preParsing ?? []].flat();
      }
    });
  }

  /** Sends `100 Continue` for other routes. Node would send it for every route if there were no listener. */
  #answerExpectContinue(isMarked: (request: IncomingMessage) => boolean): void {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    // The listener is the host's own, or that of another `QueryModule`, which knows all marked routes.
    if (server.listenerCount('checkContinue') > 0) return;
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      awaitingContinue.set(request, response);
      if (!isMarked(request)) sendContinue(request);
      server.emit('request', request, response);
    });
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0]!;
}
