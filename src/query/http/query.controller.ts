import {
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Post,
  Query as QueryParameter,
  Req,
  Res,
  type Type,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AgentService, ANONYMOUS } from '../runs/agent.service.js';
import { ReadsBody } from '../platform/host-parsers.js';
import { QueryError } from '../contract/errors.js';
import { header, type HostRequest, type HostResponse, rawRequest, requestPath } from '../platform/host.js';
import { ProblemFilter } from './problem.filter.js';
import { MODULE_OPTIONS_TOKEN, type QueryModuleOptions } from '../options/query.options.js';
import { QueryReader } from './query.reader.js';
import type { RunStream } from '../event-log/run-stream.js';
import { acceptsEventStream, EventStream, SseInterceptor } from '../sse/sse.interceptor.js';
import type { RunView, SessionPage } from '../contract/wire.js';

/** How many turns a page of a session has, unless the caller asks for fewer or for up to ten times as many. */
const PAGE_TURNS = 50;

/** `{base}/query`: what callers meet. */
@UseFilters(ProblemFilter)
@UseInterceptors(SseInterceptor)
export class QueryController {
  constructor(
    private readonly agent: AgentService,
    private readonly reader: QueryReader,
    private readonly adapterHost: HttpAdapterHost,
    @Inject(MODULE_OPTIONS_TOKEN) private readonly options: QueryModuleOptions,
  ) {}

  /** Admits a query and streams its run; resumes one; or, asked to respond asynchronously, only names the run. */
  @Post()
  @HttpCode(200)
  @ReadsBody()
  async query(@Req() request: HostRequest, @Res() response: HostResponse): Promise<EventStream | void> {
    const owner = await this.#owner(request);
    const cursor = cursorOf(header(request, 'last-event-id'));
    if (cursor) {
      rawRequest(request).resume();
      return new EventStream(this.agent.follow(owner, cursor.runId, cursor.seq));
    }
    const idempotencyKey = idempotencyKeyOf(header(request, 'idempotency-key'));
    const { query, release } = await this.reader.read(request);
    const detached = prefersAsync(header(request, 'prefer'));
    const stream = this.agent.query(query, { owner, idempotencyKey, detached, release });
    if (detached) return this.#accepted(request, response, stream);
    return new EventStream(stream);
  }

  /** Follows a run, or shows it as JSON. */
  @Get(':runId')
  async run(
    @Param('runId') runId: string,
    @QueryParameter('after') after: string | undefined,
    @Req() request: HostRequest,
    @Res() response: HostResponse,
  ): Promise<EventStream | void> {
    const owner = await this.#owner(request);
    const run = await this.agent.find(owner, runId);
    if (!acceptsEventStream(request)) return this.#reply(response, 200, run);
    const seq = followedAfter(runId, header(request, 'last-event-id'), after);
    if (run.endedAt !== null && seq === run.events) return this.#reply(response, 204);
    return new EventStream(this.agent.follow(owner, runId, seq), true);
  }

  /** Cancels a run. */
  @Delete(':runId')
  async cancel(
    @Param('runId') runId: string,
    @Req() request: HostRequest,
    @Res() response: HostResponse,
  ): Promise<void> {
    const { run, stopped } = await this.agent.cancel(await this.#owner(request), runId);
    this.#reply(response, stopped ? 200 : 202, run);
  }

  /** Lists a session's turns. */
  @Get('sessions/:sessionId')
  async session(
    @Param('sessionId') sessionId: string,
    @QueryParameter('after') after: string | undefined,
    @QueryParameter('limit') limit: string | undefined,
    @Req() request: HostRequest,
    @Res() response: HostResponse,
  ): Promise<void> {
    const turns = wholeNumber('limit', limit, { least: 1, most: 10 * PAGE_TURNS }) ?? PAGE_TURNS;
    const from = wholeNumber('after', after, { least: 0, most: Number.MAX_SAFE_INTEGER }) ?? 0;
    this.#reply(response, 200, await this.agent.session(await this.#owner(request), sessionId, from, turns));
  }

  /** Erases a session. */
  @Delete('sessions/:sessionId')
  async erase(
    @Param('sessionId') sessionId: string,
    @Req() request: HostRequest,
    @Res() response: HostResponse,
  ): Promise<void> {
    await this.agent.erase(await this.#owner(request), sessionId);
    this.#reply(response, 204);
  }

  async #owner(request: HostRequest): Promise<string> {
    return (await this.options.owner?.(request as never)) ?? ANONYMOUS;
  }

  async #accepted(request: HostRequest, response: HostResponse, stream: RunStream): Promise<void> {
    const { run } = await stream.admitted;
    const { httpAdapter } = this.adapterHost;
    httpAdapter.setHeader(response, 'Location', `${requestPath(request)}/${run!.id}`);
    httpAdapter.setHeader(response, 'Preference-Applied', 'respond-async');
    this.#reply(response, 202, run);
  }

  #reply(response: HostResponse, status: number, body?: RunView | SessionPage): void {
    const { httpAdapter } = this.adapterHost;
    httpAdapter.setHeader(response, 'Cache-Control', 'no-store');
    httpAdapter.reply(response, body, status);
  }
}

/** The controller at a path: Nest reads the path off the class, and a host may have several modules. */
export function controllerAt(path: string): Type<QueryController> {
  @Controller(path)
  class MountedQueryController extends QueryController {}
  return MountedQueryController;
}

/** WHATWG HTML §9.2.4, "Last-Event-ID"; the form is ours: `{runId}.{seq}`. An empty one is none. */
function cursorOf(lastEventId: string | undefined): { runId: string; seq: number } | undefined {
  if (!lastEventId) return undefined;
  const [, runId, seq] = /^([\w-]{1,100})\.(\d{1,15})$/.exec(lastEventId) ?? [];
  if (runId !== undefined && seq !== undefined) return { runId, seq: Number(seq) };
  const detail = 'Last-Event-ID must be the id of an event of this service, "{runId}.{number}".';
  throw new QueryError('invalid_query', detail);
}

function followedAfter(runId: string, lastEventId: string | undefined, after: string | undefined): number {
  const cursor = cursorOf(lastEventId);
  if (cursor && cursor.runId !== runId) {
    throw new QueryError('invalid_query', 'Last-Event-ID is of another run than the path.');
  }
  return cursor?.seq ?? wholeNumber('after', after, { least: 0, most: Number.MAX_SAFE_INTEGER }) ?? 0;
}

/** draft-ietf-httpapi-idempotency-key-header: a quoted string; bare ones are common and taken as they are. */
function idempotencyKeyOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const key = /^"(.*)"$/.exec(value)?.[1] ?? value;
  if (key !== '' && key.length <= 255) return key;
  throw new QueryError('invalid_query', 'Idempotency-Key must have 1 to 255 characters.');
}

/** RFC 7240 §4.1 */
function prefersAsync(prefer = ''): boolean {
  return prefer
    .split(',')
    .some((preference) => preference.split(';', 1)[0]!.trim().toLowerCase() === 'respond-async');
}

function wholeNumber(
  name: string,
  value: string | undefined,
  { least, most }: { least: number; most: number },
): number | undefined {
  if (value === undefined) return undefined;
  const number = /^\d{1,16}$/.test(value) ? Number(value) : NaN;
  if (number >= least && number <= most) return number;
  throw new QueryError(
    'invalid_query',
    `The parameter "${name}" must be a whole number from ${least} to ${most}.`,
  );
}
