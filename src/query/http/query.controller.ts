import {
  Controller,
  type ControllerOptions,
  Delete,
  Get,
  HttpCode,
  Param,
  Post,
  Query as QueryParameter,
  Req,
  type Type,
} from '@nestjs/common';
import { RunStream } from '../event-log/run-stream.js';
import type { QueryModuleExtras } from '../options/query.options.js';
import { type HostRequest, RequestPath } from '../platform/host.js';
import { Reply } from '../platform/reply.js';
import { AgentService } from '../runs/agent.service.js';
import { prefersEventStream } from '../sse/accept.js';
import { EventStream } from '../sse/sse.interceptor.js';
import { fileReply } from './file-reply.js';
import { cursorOfRun } from './headers.js';
import { FromRequest, OwnerPipe } from './owner.pipe.js';
import { listOf, runListOf, turnsPageOf, type UrlParameters } from './pages.js';
import { StreamsEnvelopes } from './streams-envelopes.js';
import { type Submission, SubmissionPipe } from './submission.pipe.js';

/** Where a controller is mounted, and how it is decorated. */
type Mounting = Pick<QueryModuleExtras, 'path' | 'version' | 'host' | 'decorators'>;

/**
 * `{base}/query`. A pipe validates the query as a `QueryDto`, `AgentService` returns the Observable of its envelopes, and the
 * interceptor writes it.
 */
@StreamsEnvelopes()
export class QueryController {
  constructor(private readonly agent: AgentService) {}

  /** Admits a query and streams its run; resumes a run; or, with `Prefer: respond-async`, only names the run. */
  @Post()
  @HttpCode(200)
  async submit(
    @FromRequest(SubmissionPipe) submission: Submission,
    @RequestPath() path: string,
  ): Promise<EventStream | Reply> {
    if (submission.cursor) {
      const { owner, cursor, request } = submission;
      return new EventStream(this.agent.follow(owner, cursor.runId, cursor.seq, { request }));
    }
    const { query, options } = submission;
    const envelopes = this.agent.query(query, options);
    if (!options.detached) return new EventStream(envelopes);

    const { run } = await RunStream.from(envelopes).admitted;
    return new Reply(202, run, {
      'Preference-Applied': 'respond-async',
      ...(run && { Location: `${path}/${run.id}` }),
    });
  }

  /** Lists the runs of the caller. */
  @Get()
  async runs(
    @FromRequest(OwnerPipe) owner: string,
    @QueryParameter() parameters: UrlParameters,
  ): Promise<Reply> {
    return new Reply(200, await this.agent.runs(owner, runListOf(parameters)));
  }

  /** Lists the sessions of the caller. WARNING: before the routes of a run, whose id may be any text. */
  @Get('sessions')
  async sessions(
    @FromRequest(OwnerPipe) owner: string,
    @QueryParameter() parameters: UrlParameters,
  ): Promise<Reply> {
    return new Reply(200, await this.agent.sessions(owner, listOf(parameters)));
  }

  /** Follows a run, or returns it as JSON. */
  @Get(':runId')
  async run(
    @FromRequest(OwnerPipe) owner: string,
    @Param('runId') runId: string,
    @Req() request: HostRequest,
    @QueryParameter('after') after: string | undefined,
  ): Promise<EventStream | Reply> {
    const run = await this.agent.find(owner, runId);
    if (!prefersEventStream(request)) return new Reply(200, run);
    const cursor = cursorOfRun(runId, request, after);
    if (run.endedAt !== null && cursor === run.events) return new Reply(204);
    return new EventStream(this.agent.follow(owner, runId, cursor, { request: request as never }));
  }

  /** Cancels a run: 200 when its handler has stopped, 202 if it has not. */
  @Delete(':runId')
  async cancel(@FromRequest(OwnerPipe) owner: string, @Param('runId') runId: string): Promise<Reply> {
    const { run, stopped } = await this.agent.cancel(owner, runId);
    return new Reply(stopped ? 200 : 202, run);
  }

  /** Returns a file of the query or of its answer, or a long text of a turn, which a page of the session shows cut. */
  @Get(':runId/files/:sha256')
  async file(
    @FromRequest(OwnerPipe) owner: string,
    @Param('runId') runId: string,
    @Param('sha256') sha256: string,
    @Req() request: HostRequest,
  ): Promise<Reply> {
    return fileReply(request, await this.agent.file(owner, runId, sha256));
  }

  /** Lists the turns of a session. */
  @Get('sessions/:sessionId')
  async session(
    @FromRequest(OwnerPipe) owner: string,
    @Param('sessionId') sessionId: string,
    @QueryParameter() parameters: UrlParameters,
  ): Promise<Reply> {
    const page = turnsPageOf(parameters);
    return new Reply(200, await this.agent.session(owner, sessionId, page.after, page.limit));
  }

  /** Erases a session. */
  @Delete('sessions/:sessionId')
  async erase(@FromRequest(OwnerPipe) owner: string, @Param('sessionId') sessionId: string): Promise<Reply> {
    await this.agent.erase(owner, sessionId);
    return new Reply(204);
  }
}

/** Returns the controller of one module. Nest reads all this from the class, and a host may have several modules. */
export function controllerAt({ path, version, host, decorators = [] }: Mounting): Type<QueryController> {
  if (!areFunctions(decorators)) {
    throw new TypeError(
      'QueryModule: the option "decorators" must be an array of class decorators, such as [UseGuards(MyGuard)].',
    );
  }
  class MountedQueryController extends QueryController {}
  const options: ControllerOptions = { path: path ?? 'query' };
  if (version !== undefined) options.version = version;
  if (host !== undefined) options.host = host;
  const all: ClassDecorator[] = [Controller(options), ...decorators];
  return all.reduce<typeof MountedQueryController>(
    // A decorator may return another class in place of the one that it gets.
    (decorated, decorate) => decorate(decorated) ?? decorated,
    MountedQueryController,
  );
}

function areFunctions(values: unknown): boolean {
  return Array.isArray(values) && values.every((value) => typeof value === 'function');
}
