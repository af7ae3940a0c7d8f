import { createHash } from 'node:crypto';
import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
} from '@modelcontextprotocol/server';
import { QueryError, type RunStream } from 'nest-agent-query';
import { type HostRequest, idempotencyKeyOf, rawResponse } from 'nest-agent-query/protocol';
import { digestOfArguments, queryOf } from './arguments.js';
import type { CallCursor } from './call-cursor.js';
import { CallLog } from './call-log.js';
import { callResult, refusedResult } from './call-result.js';
import { ClientCapabilities, sessionOf } from './client-facts.js';
import type { Call, Exchange } from './exchange.js';
import type { McpSettings } from './mcp-options.js';
import { pushQuestions } from './pushed-questions.js';
import { checked, inputRequestsOf, Questions } from './questions.js';
import { readRun, type Stop } from './read-run.js';
import { type CallFacts, requestState, runOfState } from './request-state.js';
import type { Tasks } from './tasks.js';
import type { AgentTool, AgentTools, FoundRun } from './tools.js';

/** The metadata of a run in which the call of a client of the version 2025-11-25 is. */
const CALL_KEY = 'mcp.call';

/** A run that a call waits for. */
interface Called extends FoundRun {
  stream: RunStream;
}

/** What the client of a call knows of its run already. */
interface Known {
  /** See `CallCursor`. */
  asked: number;
  /** The number of the last envelope of which it may have been told. */
  told: number;
}

/** The calls of tools. */
export class Calls {
  constructor(
    private readonly settings: McpSettings,
    private readonly tools: AgentTools,
    private readonly tasks: Tasks,
  ) {}

  /**
   * Answers `tools/call`: with the result of the run, with a task, or with what the run asks.
   *
   * @throws {ProtocolError} there is no such tool, or the answers to what the run has asked are not valid
   */
  async call(call: Call): Promise<CallToolResult | InputRequiredResult | Result> {
    try {
      const { resumes } = call.exchange;
      return await (resumes ? this.#resume(call, resumes) : this.#answer(call));
    } catch (error) {
      if (error instanceof QueryError) return refusedResult(error);
      throw error;
    }
  }

  /** Cancels the run of a call: `notifications/cancelled` of the version 2025-11-25. */
  async cancel(request: HostRequest, requestId: unknown): Promise<void> {
    const call = callOf(request, requestId);
    if (call === undefined) return;
    for (const { endpoint } of this.tools.all) {
      const owner = await endpoint.owner(request);
      const { runs } = await endpoint.agent.runs(owner, { metadata: { [CALL_KEY]: call }, limit: 1 });
      if (runs[0]) await endpoint.agent.cancel(owner, runs[0].id);
    }
  }

  async #answer(call: Call): Promise<CallToolResult | InputRequiredResult | Result> {
    const { name } = call.parameters;
    const tool = this.tools.named(name);
    if (!tool) throw unknownTool(name);
    const owner = await tool.endpoint.owner(call.exchange.request);
    const isModern = call.era === 'modern';
    if (isModern && call.mcpReq.requestState() !== undefined)
      return this.#wait(call, await this.#goOn(call, tool, owner));
    const isTask = isModern && tool.hasTasks && new ClientCapabilities(call.mcpReq).hasTasks;
    const called = await this.#submit(call, tool, owner, isTask);
    return isTask ? this.tasks.created(called.run) : this.#wait(call, called);
  }

  /** Goes on with the stream of a call of the version 2025-11-25 that was cut. */
  async #resume(call: Call, { runId, asked }: CallCursor): Promise<CallToolResult | InputRequiredResult> {
    const { request } = call.exchange;
    const found = await this.tools.find(request, runId);
    const stream = found.endpoint.agent.follow(found.owner, runId, 0, { request });
    return this.#wait(call, { ...found, stream }, { asked, told: found.run.events });
  }

  async #submit(call: Call, { endpoint }: AgentTool, owner: string, detached: boolean): Promise<Called> {
    const { era, exchange, mcpReq, parameters } = call;
    const { request } = exchange;
    const { query, pointerOf } = queryOf(parameters.arguments);
    const key = era === 'legacy' ? callOf(request, mcpReq.id) : undefined;
    const made = key === undefined ? query : { ...query, metadata: { [CALL_KEY]: key } };
    const path = endpoint.pathBeside(request, this.settings.path);
    const idempotencyKey = idempotencyKeyOf(request);
    const options = { owner, path, idempotencyKey, detached, request };
    const stream = await endpoint.submit(exchange.body!, made, options, pointerOf);
    const { run } = await stream.admitted;
    return { run: run!, owner, endpoint, stream };
  }

  /** The run of a call that comes again, with the answers to what it has asked. */
  async #goOn(call: Call, { endpoint }: AgentTool, owner: string): Promise<Called> {
    const { exchange, mcpReq } = call;
    const run = await endpoint.agent.find(owner, runOfState(mcpReq.requestState(), factsOf(call, owner)));
    await exchange.body?.release();
    const stream = endpoint.agent.follow(owner, run.id, 0, { request: exchange.request });
    return { run, owner, endpoint, stream };
  }

  async #wait(
    call: Call,
    called: Called,
    known: Known = { asked: 0, told: 0 },
  ): Promise<CallToolResult | InputRequiredResult> {
    const { run, owner, endpoint } = called;
    const { agent } = endpoint;
    const log = new CallLog();
    if (call.era === 'legacy') call.exchange.mark(cursorAt(call, run.id, known.asked));
    const stop = await this.#read(call, called, log, known);
    if (stop === 'stopping') throw stopping(call.exchange);
    // In the version 2025-11-25 a closed connection is no cancel: the disconnect policy decides.
    if (stop === 'left' && call.era === 'modern') await agent.cancel(owner, run.id);
    if (stop === 'asks') return this.#ask(call, called, log.asked);
    return callResult(log, { agent, owner, runId: run.id, exchange: call.exchange });
  }

  #read(call: Call, { run, stream, ...found }: Called, log: CallLog, { asked, told }: Known): Promise<Stop> {
    const { mcpReq } = call;
    const progressToken = mcpReq._meta?.progressToken;
    const { response } = call.exchange;
    const raw = rawResponse(response);
    const onNews = () => {
      // For a client that does not read, nothing is queued.
      if (progressToken === undefined || raw.writableNeedDrain || log.end) return;
      const message = log.news();
      if (log.seq <= told) return;
      const params = { progressToken, progress: log.seq, ...(message !== '' && { message }) };
      void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
    };
    const onAsks = async () => {
      const questions = await Questions.of(found, run.id);
      await questions.declineHidden();
      await checked(() => questions.answer(mcpReq.inputResponses));
      const shown = (await Questions.of(found, run.id)).shown();
      if (shown.length === 0) return true;
      return call.era === 'legacy' && pushQuestions(call, cursorAt(call, run.id, log.asked), shown);
    };
    return readRun(stream, log, { response, signal: mcpReq.signal, known: asked, onNews, onAsks });
  }

  /** The answer to a call whose run asks. @param seq the number of the envelope with the questions */
  async #ask(call: Call, called: Called, seq: number): Promise<CallToolResult | InputRequiredResult> {
    const { id } = called.run;
    const questions = await Questions.of(called, id);
    if (call.era === 'legacy') return unanswerable(id, questions.text);
    return {
      resultType: 'input_required',
      inputRequests: inputRequestsOf(questions.shown()),
      requestState: requestState({ runId: id, seq }, factsOf(call, called.owner)),
    };
  }
}

function factsOf({ parameters }: Call, owner: string): CallFacts {
  const { name: tool, arguments: given } = parameters;
  return { owner, tool, argumentsDigest: digestOfArguments(given) };
}

/** Names a call of a session; undefined if the client has no session. */
function callOf(request: HostRequest, requestId: unknown): string | undefined {
  const session = sessionOf(request);
  return (
    session &&
    createHash('sha256')
      .update(JSON.stringify([session.id, requestId]))
      .digest('hex')
  );
}

function unknownTool(name: unknown): ProtocolError {
  const sentence = `There is no tool ${JSON.stringify(name)}. The method tools/list returns those that exist.`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, sentence);
}

function unanswerable(runId: string, text: string): CallToolResult {
  const how = 'This client cannot ask a person. Answer in another client of the service.';
  return {
    content: [{ type: 'text', text: `The agent asks:\n${text}\n\n${how}` }],
    isError: true,
    _meta: { runId, code: 'input_required' },
  };
}

function cursorAt({ mcpReq: { id, _meta } }: Call, runId: string, asked: number): CallCursor {
  return { runId, asked, requestId: id, progressToken: _meta?.progressToken };
}

/** A client that can resume the stream gets the answer of another process, or of this one after its restart. */
function stopping(exchange: Exchange): QueryError {
  exchange.leaveOpen();
  const detail = 'The service is shutting down. The run may go on: ask again in a moment.';
  return new QueryError('draining', detail, { retryAfter: 1 });
}
