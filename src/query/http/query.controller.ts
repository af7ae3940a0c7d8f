import {
  Controller,
  type ControllerOptions,
  Delete,
  Get,
  Head,
  HttpCode,
  Param,
  Post,
  Query,
  Req,
  Res,
  type StreamableFile,
  type Type,
  UseFilters,
} from '@nestjs/common';
import type {
  DeliveryView,
  Envelope,
  InputList,
  RunDeliveries,
  RunInputs,
  RunList,
  RunView,
  SentFile,
  SessionList,
  SessionPage,
  SessionView,
  UsageList,
} from 'nest-agent-query-client';
import type { Observable } from 'rxjs';
import type { ReadFile } from '../body/read-file.js';
import { RunStream } from '../event-log/run-stream.js';
import type { QueryModuleExtras } from '../options/query.options.js';
import type { HostRequest, HostResponse } from '../platform/host.js';
import { AgentService } from '../runs/agent.service.js';
import { decorated } from './decorated.js';
import { prefersEventStream } from '../sse/accept.js';
import { Responses } from '../sse/responses.js';
import { StreamsEnvelopes } from '../sse/streams-envelopes.js';
import { Owner, type Received } from './caller.js';
import { FileBody } from './file.pipe.js';
import { fileReply } from './file-reply.js';
import type { AnswersDto } from './answers.dto.js';
import type { ForkDto } from './fork.dto.js';
import { cursorOfRun } from './headers.js';
import { CancelDto, ListDto, runListOf, TurnsDto, UsageDto, validated } from './list.dto.js';
import { ProblemFilter } from './problem.filter.js';
import { AnswersBody, ForkBody, type Submission, Submitted } from './query.pipe.js';

/**
 * `{base}/query`. What callers send is validated as DTOs, `AgentService` returns an Observable of envelopes, and `Responses`
 * writes it. What they throw, `ProblemFilter` answers with a problem (RFC 9457).
 */
@UseFilters(ProblemFilter)
@StreamsEnvelopes((routes: QueryController) => routes.responses)
export class QueryController {
  constructor(
    private readonly agent: AgentService,
    readonly responses: Responses,
  ) {}

  /** Admits a query and streams its run; resumes a run; or, with `Prefer: respond-async`, only names the run. */
  @Post()
  @HttpCode(200)
  submit(
    @Submitted() { caller, query, cursor }: Submission,
    @Res() response: HostResponse,
  ): Observable<Envelope> | Promise<RunView | undefined> {
    const { owner, request } = caller;
    if (cursor) return this.agent.follow(owner, cursor.runId, cursor.seq, { request });
    const envelopes = this.agent.query(query, caller);
    return caller.detached ? acceptedRun(envelopes, caller.path, response) : envelopes;
  }

  @Get()
  runs(@Owner() owner: string, @Query() parameters: object): Promise<RunList> {
    return this.agent.runs(owner, runListOf(parameters));
  }

  /**
   * Lists the sessions of the caller. WARNING: these routes are before those of a run, for which Express would take "sessions" with a
   * session of the name "inputs" or "deliveries".
   */
  @Get('sessions')
  sessions(@Owner() owner: string, @Query() parameters: object): Promise<SessionList> {
    return this.agent.sessions(owner, validated(ListDto, parameters));
  }

  @Get('sessions/:sessionId')
  session(
    @Owner() owner: string,
    @Param('sessionId') sessionId: string,
    @Query() parameters: object,
  ): Promise<SessionPage> {
    const { after, limit } = validated(TurnsDto, parameters);
    return this.agent.session(owner, sessionId, after, limit);
  }

  /** Makes a session that begins with the first turns of another one. */
  @Post('sessions/:sessionId/fork')
  async fork(
    @ForkBody() { body, caller: { owner, path } }: Received<ForkDto>,
    @Param('sessionId') sessionId: string,
    @Res() response: HostResponse,
  ): Promise<SessionView> {
    const { afterTurn, session_id: newId } = body;
    const session = await this.agent.fork(owner, sessionId, afterTurn, newId ?? undefined);
    const sessions = path.split('/').slice(0, -2).join('/');
    response.header('Location', `${sessions}/${encodeURIComponent(session.id)}`);
    return session;
  }

  @Delete('sessions/:sessionId')
  @HttpCode(204)
  erase(@Owner() owner: string, @Param('sessionId') sessionId: string): Promise<void> {
    return this.agent.erase(owner, sessionId);
  }

  /** Lists what the runs of the caller ask. */
  @Get('inputs')
  openInputs(@Owner() owner: string, @Query() parameters: object): Promise<InputList> {
    return this.agent.inputs.open(owner, validated(ListDto, parameters));
  }

  /** Keeps a file for the queries of its owner. */
  @Post('files')
  @HttpCode(201)
  async keepFile(@FileBody() { body: file, caller: { owner } }: Received<ReadFile>): Promise<SentFile> {
    try {
      return await this.agent.sentFiles.keep(owner, file);
    } finally {
      await file.discard();
    }
  }

  /** Whether the caller has sent a file: 200 or 404. */
  @Head('files/:sha256')
  async hasFile(@Owner() owner: string, @Param('sha256') sha256: string): Promise<void> {
    await this.agent.sentFiles.find(owner, sha256);
  }

  /** Adds up what the models have used for the caller. */
  @Get('usage')
  usage(@Owner() owner: string, @Query() parameters: object): Promise<UsageList> {
    return this.agent.usage(owner, validated(UsageDto, parameters));
  }

  /** Follows a run, or returns it as JSON. */
  @Get(':runId')
  async run(
    @Owner() owner: string,
    @Param('runId') runId: string,
    @Req() request: HostRequest,
    @Res() response: HostResponse,
    @Query('after') after?: string,
  ): Promise<Observable<Envelope> | RunView | undefined> {
    const run = await this.agent.find(owner, runId);
    if (!prefersEventStream(request)) return run;
    const cursor = cursorOfRun(runId, request, after);
    const hasAll = run.endedAt !== null && cursor === run.events;
    if (!hasAll) return this.agent.follow(owner, runId, cursor, { request });
    response.status(204);
    return undefined;
  }

  /** Cancels a run: 200 when its handler has stopped, 202 if it has not. With `?erase` it erases the run: 204. */
  @Delete(':runId')
  async cancel(
    @Owner() owner: string,
    @Param('runId') runId: string,
    @Res() response: HostResponse,
    @Query() parameters: object,
  ): Promise<RunView | undefined> {
    if (validated(CancelDto, parameters).erase !== 'false') {
      await this.agent.eraseRun(owner, runId);
      response.status(204);
      return undefined;
    }
    const { run, stopped } = await this.agent.cancel(owner, runId);
    if (!stopped) response.status(202);
    return run;
  }

  /** Returns what a run has asked, with the answers. */
  @Get(':runId/inputs')
  inputs(@Owner() owner: string, @Param('runId') runId: string): Promise<RunInputs> {
    return this.agent.inputs.of(owner, runId);
  }

  /** Answers requests of a run, and follows it from there or returns it as JSON. */
  @Post(':runId/inputs')
  @HttpCode(200)
  async answer(
    @AnswersBody() { body, caller: { owner, cursor } }: Received<AnswersDto>,
    @Param('runId') runId: string,
    @Req() request: HostRequest,
  ): Promise<Observable<Envelope> | RunView> {
    const follows = prefersEventStream(request);
    const after = cursor && cursorOfRun(runId, request);
    const options = { detached: !follows, after };
    const { run, before } = await this.agent.inputs.answer(owner, runId, body.answers, options);
    if (!follows || before === undefined) return run;
    return this.agent.follow(owner, runId, after ?? before, { request });
  }

  /** Returns the webhooks of a run. */
  @Get(':runId/deliveries')
  deliveries(@Owner() owner: string, @Param('runId') runId: string): Promise<RunDeliveries> {
    return this.agent.deliveries.of(owner, runId);
  }

  /** Sends a webhook of a run again. */
  @Post(':runId/deliveries/:id')
  @HttpCode(202)
  sendAgain(
    @Owner() owner: string,
    @Param('runId') runId: string,
    @Param('id') id: string,
  ): Promise<DeliveryView> {
    return this.agent.deliveries.sendAgain(owner, runId, id);
  }

  /** Returns a file of the query or of its answer, or a long text of a turn, which a page of the session shows cut. */
  @Get(':runId/files/:sha256')
  async file(
    @Owner() owner: string,
    @Param('runId') runId: string,
    @Param('sha256') sha256: string,
    @Req() request: HostRequest,
    @Res() response: HostResponse,
  ): Promise<StreamableFile | undefined> {
    return fileReply(request, response, await this.agent.file(owner, runId, sha256));
  }
}

/** Answers 202 as soon as a run is admitted, for a caller who does not wait (`Prefer: respond-async`, RFC 7240 §4.1). */
async function acceptedRun(
  envelopes: Observable<Envelope>,
  path: string,
  response: HostResponse,
): Promise<RunView | undefined> {
  const { run } = await RunStream.from(envelopes).admitted;
  response.status(202);
  response.header('Preference-Applied', 'respond-async');
  if (run) response.header('Location', `${path}/${run.id}`);
  return run;
}

/** Returns the controller of one module. Nest reads all this from the class, and a host may have several modules. */
export function controllerAt({ path, version, host, decorators }: QueryModuleExtras): Type {
  @Controller({ path: path ?? 'query', version, host } as ControllerOptions)
  class MountedQueryController extends QueryController {}
  return decorated('QueryModule', MountedQueryController, decorators);
}
