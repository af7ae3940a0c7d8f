import { Buffer } from 'node:buffer';
import { type ExceptionFilter, Injectable, type InjectionToken, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { BodyPlace } from '../body/places.js';
import { QueryError } from '../contract/errors.js';
import { filesMissing, invalidQuery, limitExceeded } from '../contract/refusals.js';
import type { RunStream } from '../event-log/run-stream.js';
import { BodyContent } from '../files/content.js';
import { Settings } from '../options/settings.js';
import { type HostRequest, requestPath } from '../platform/host.js';
import { AgentService, type QueryOptions } from '../runs/agent.service.js';
import { Observers } from '../runs/observers.js';
import { Responses } from '../sse/responses.js';
import { Bodies, type ReceivedBody } from './bodies.js';
import { OwnerPipe } from './caller.js';
import { ProblemFilter, type ProblemForm } from './problem.filter.js';

/**
 * A query that a view of another protocol has made of a body. The `base64` of a file is what the body has at one of its places: a
 * `BodyContent`, or the `Base64Fault` that is refused. Without it, `sha256` names a content that the owner has sent before.
 */
export interface MadeQuery {
  parts: (
    | { type: 'text'; text: string }
    | { type: 'file'; name: string; mimeType: string; base64?: unknown; sha256?: string }
  )[];
  kwargs: Record<string, unknown>;
  /** See `Query.metadata`. */
  metadata?: Record<string, string>;
  /** Entries that the view adds to it. They do not count for the limits of what callers send. Default: none. */
  ownMetadata?: Record<string, string>;
}

/**
 * What views of other protocols use of an endpoint, so that their requests have its owners, limits, runs and streams.
 * `Endpoints` finds it.
 *
 * @example
 * const stream = await endpoint.withBody(request, placesOf({ text: 'text' }), (body, owner) => {
 *   const { text } = body.value as { text: string };
 *   const query = { parts: [{ type: 'text' as const, text }], kwargs: {} };
 *   return endpoint.submit(body, query, { owner }, () => '/text');
 * });
 */
@Injectable()
export class Endpoint {
  constructor(
    readonly agent: AgentService,
    /** Writes what the routes of the view return: streams in its form, and values as JSON. */
    readonly responses: Responses,
    private readonly owners: OwnerPipe,
    private readonly bodies: Bodies,
    private readonly settings: Settings,
    private readonly observers: Observers,
  ) {}

  /** The class of the option `kwargs`; undefined where the host has none. */
  get kwargs(): Type | undefined {
    return this.settings.kwargs?.type;
  }

  /** After how much silence a stream sends a keep-alive, in milliseconds: the option `streams.keepAliveMs`. */
  get keepAliveMs(): number {
    return this.settings.streams.keepAliveMs;
  }

  /** Finds the owner of a request, as the option `owner` says. */
  async owner(request: HostRequest): Promise<string> {
    return this.owners.transform(() => request);
  }

  /**
   * Finds the owner of a request, reads its JSON as it arrives, and works with it. The body is released when the work has ended.
   * Until then what it brings counts for the owner.
   *
   * @param places where the strings of files are
   * @param mediaType a type of JSON that the body may have besides `application/json`. Default: none
   * @returns what `work` returns
   * @throws {QueryError} see `Bodies.read`; and what `work` throws
   */
  async withBody<T>(
    request: HostRequest,
    places: BodyPlace,
    work: (body: ReceivedBody, owner: string) => T | Promise<T>,
    mediaType?: string,
  ): Promise<T> {
    const owner = await this.owner(request);
    const body = await this.bodies.read(request, owner, places, mediaType);
    try {
      return await work(body, owner);
    } finally {
      await body.release();
    }
  }

  /**
   * Submits a query. Its run has the files of the body from then on, and frees them when it no longer needs them.
   *
   * @param pointerOf where the body has what the query has at a JSON Pointer, such as `/parts/1/name`
   * @returns the run, which is admitted
   * @throws {QueryError} see `Bodies.query` and `AgentService.query`
   */
  async submit(
    body: ReceivedBody,
    query: MadeQuery,
    options: QueryOptions,
    pointerOf: (pointer: string) => string,
  ): Promise<RunStream> {
    try {
      this.#checkLimits(query, pointerOf);
      const made = await this.bodies.query(body, query);
      if (query.ownMetadata) made.metadata = { ...made.metadata, ...query.ownMetadata };
      const stream = this.agent.query(made, { ...options, release: this.bodies.handOver(body) });
      await stream.admitted;
      return stream;
    } catch (error) {
      throw relocated(error, pointerOf);
    }
  }

  /**
   * The path of this endpoint for the callers of a view, who may use a prefix of the host: the files of their queries are under it.
   *
   * @param own the path of the route, without a prefix of the host, such as `ai/chat`
   * @returns undefined if the request has another path than that of the route
   */
  pathBeside(request: HostRequest, own: string): string | undefined {
    const path = requestPath(request);
    return path.endsWith(`/${own}`) ? path.slice(0, -own.length - 1) + this.settings.path : undefined;
  }

  /** A filter that writes refusals as another protocol does. It logs and counts them as those of the endpoint. */
  filter(form: ProblemForm): ExceptionFilter {
    return new ProblemFilter(this.observers, this.settings, form);
  }

  /**
   * Of a body of the endpoint's own, the reader checks these while it arrives. A view for several endpoints may have read it with
   * the limits of another one.
   */
  #checkLimits({ parts }: MadeQuery, pointerOf: (pointer: string) => string): void {
    const { limits } = this.settings;
    if (parts.length > limits.parts)
      throw limitExceeded('parts', limits.parts, pointerOf(`/parts/${limits.parts}`));
    let filesBytes = 0;
    for (const [index, part] of parts.entries()) {
      const check = (limit: 'textBytes' | 'fileBytes' | 'filesBytes', bytes: number, member: string) => {
        if (bytes > limits[limit])
          throw limitExceeded(limit, limits[limit], pointerOf(`/parts/${index}/${member}`));
      };
      if (part.type === 'text') check('textBytes', Buffer.byteLength(part.text), 'text');
      else if (part.base64 instanceof BodyContent) {
        filesBytes += part.base64.size;
        check('fileBytes', part.base64.size, 'base64');
        check('filesBytes', filesBytes, 'base64');
      }
    }
  }
}

/** A refusal whose faults are at other places of the body. */
function relocated(error: unknown, pointerOf: (pointer: string) => string): unknown {
  if (!(error instanceof QueryError) || !error.extras.errors) return error;
  const errors = error.extras.errors.map(({ pointer, detail }) => ({ pointer: pointerOf(pointer), detail }));
  if (error.code === 'invalid_query') return invalidQuery(errors);
  return error.code === 'file_missing' ? filesMissing(errors) : error;
}

/**
 * Finds the endpoints of an application: a provider of the module of a view.
 *
 * @example
 * constructor(private readonly endpoints: Endpoints) {}
 *
 * onModuleInit(): void {
 *   this.endpoint = this.endpoints.of('research');
 * }
 */
@Injectable()
export class Endpoints {
  constructor(private readonly modules: ModuleRef) {}

  /**
   * Returns the endpoint of the module with a name; or, without `name`, of the module without one. Call it when the modules are
   * initialized: the handler of a module may have asynchronous providers.
   *
   * @throws {Error} the application has no such module, or its module comes from another copy of this package
   */
  of(name?: string): Endpoint {
    const found = this.#find(name);
    if (found instanceof Endpoint) return found;
    throw new Error(
      'Two copies of nest-agent-query are installed, and the module of the protocol uses another one than QueryModule. ' +
        'Run npm ls nest-agent-query, and install one version for both.',
    );
  }

  #find(name: string | undefined): unknown {
    try {
      return this.modules.get(endpointToken(name), { strict: false });
    } catch {
      const wanted = name === undefined ? 'without a name' : `with the name ${JSON.stringify(name)}`;
      throw new Error(
        `This application has no QueryModule ${wanted}. Import QueryModule beside the module of the protocol.`,
      );
    }
  }
}

/**
 * The injection token of the `Endpoint` of the module with a name; or, without `name`, of the module without one. Not the class:
 * each of several modules has a provider of it, and Nest would find any of them.
 */
export function endpointToken(name = ''): InjectionToken<Endpoint> {
  return `Endpoint:${name}`;
}
