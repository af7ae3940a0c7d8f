import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { QueryError, type RunView } from 'nest-agent-query';
import { CallLog } from './call-log.js';
import { callResult } from './call-result.js';
import { ClientCapabilities, type Mode, TASKS } from './client-facts.js';
import type { Exchange } from './exchange.js';
import { isObject } from './json.js';
import type { McpSettings } from './mcp-options.js';
import { checked, inputRequestsOf, Questions } from './questions.js';
import { readRun } from './read-run.js';
import type { AgentTools, FoundRun } from './tools.js';

/** How often clients ask for a task, in milliseconds. */
const POLL_MS = 1000;

const STATUSES: Record<RunView['status'], string> = {
  waiting: 'working',
  running: 'working',
  input_required: 'input_required',
  completed: 'completed',
  // For a tool, an answer that failed is a result that says so.
  failed: 'completed',
  cancelled: 'cancelled',
};

const NEEDED = `The client must declare the extension ${TASKS} in each request.`;

type Method = (task: FoundRun, context: ServerContext) => Promise<Result>;

/** The tasks of the extension `io.modelcontextprotocol/tasks` (version 2026-07-28): each is a run, and has its id. */
export class Tasks {
  constructor(
    private readonly settings: McpSettings,
    private readonly tools: AgentTools,
  ) {}

  /** The result of a call that has become a task. The run is in the store already. */
  created(run: RunView): Result {
    return { resultType: 'task', ...this.#taskOf(run) };
  }

  /** Adds the methods of tasks to a server. @param safely hides what is unexpected from clients */
  addTo(
    server: Server,
    exchange: Exchange,
    safely: (method: () => Promise<Result>) => Promise<Result>,
  ): void {
    const add = (name: string, method: Method) =>
      server.setRequestHandler(name, { params: ANY }, (parameters, context) =>
        safely(() => this.#answer(method, parameters as Record<string, unknown>, context, exchange)),
      );
    add('tasks/get', (task, { mcpReq }) =>
      this.#get(task, new ClientCapabilities(mcpReq).modes, exchange, server),
    );
    add('tasks/update', async ({ run, ...found }, { mcpReq: { inputResponses } }) => {
      const questions = await Questions.of(found, run.id);
      await checked(() => questions.answer(inputResponses, { detached: true }));
      return {};
    });
    add('tasks/cancel', async ({ run, owner, endpoint }) => {
      await endpoint.agent.cancel(owner, run.id);
      return {};
    });
  }

  /** @throws {ProtocolError} -32602: the caller has no such task · -32021: the client does not know tasks */
  async #answer(
    method: Method,
    parameters: Record<string, unknown>,
    context: ServerContext,
    { request }: Exchange,
  ): Promise<Result> {
    if (!new ClientCapabilities(context.mcpReq).hasTasks)
      throw new MissingRequiredClientCapabilityError(
        { requiredCapabilities: { extensions: { [TASKS]: {} } } },
        NEEDED,
      );
    const task = await this.tools.find(request, String(parameters['taskId'])).catch(throwUnknown);
    return method(task, context);
  }

  async #get(task: FoundRun, modes: Mode[], exchange: Exchange, server: Server): Promise<Result> {
    const { run, owner, endpoint } = task;
    const shown = this.#taskOf(run);
    if (run.status === 'input_required') return { ...shown, ...(await asked(task, modes)) };
    if (run.status !== 'completed' && run.status !== 'failed') return shown;
    const log = new CallLog();
    const { agent } = endpoint;
    const { signal } = new AbortController();
    const { response } = exchange;
    await readRun(agent.follow(owner, run.id), log, {
      response,
      signal,
      onNews: () => {},
      onAsks: async () => true,
    });
    const result = await callResult(log, { agent, owner, runId: run.id, exchange });
    // The SDK says of which type a result is, but not of one inside another.
    return {
      ...shown,
      result: { resultType: 'complete', ...server.projectCallToolResult(result, undefined) },
    };
  }

  #taskOf(run: RunView): Record<string, unknown> {
    return {
      taskId: run.id,
      status: STATUSES[run.status],
      createdAt: run.createdAt,
      lastUpdatedAt: run.endedAt ?? run.startedAt ?? run.createdAt,
      ttlMs: this.settings.ttlMs,
      pollIntervalMs: POLL_MS,
    };
  }
}

/** What a task asks. One that only asks what this client cannot show works, until another client answers. */
async function asked({ run, ...found }: FoundRun, modes: Mode[]): Promise<Record<string, unknown>> {
  const questions = await Questions.of(found, run.id);
  const lastUpdatedAt = questions.askedAt ?? run.createdAt;
  const shown = questions.shown(modes);
  if (shown.length > 0) return { lastUpdatedAt, inputRequests: inputRequestsOf(shown) };
  const statusMessage = 'The agent waits for an answer that it gets elsewhere.';
  return { status: 'working', lastUpdatedAt, statusMessage };
}

function throwUnknown(error: unknown): never {
  if (!(error instanceof QueryError) || error.code !== 'not_found') throw error;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task, or it is no longer kept.');
}

/** The parameters of a method of an extension, which the SDK does not know. */
const ANY = {
  '~standard': {
    version: 1 as const,
    vendor: 'nest-agent-query',
    validate: (value: unknown) => ({ value: isObject(value) ? value : {} }),
  },
};
