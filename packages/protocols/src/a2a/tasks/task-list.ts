import { Buffer } from 'node:buffer';
import { Injectable } from '@nestjs/common';
import type { Awaitable, EndedRunList, FieldError, RunEnd, RunStatus, RunView } from 'nest-agent-query';
import { heldLength, holdAnswer, invalidQuery, JsonPieces, rawResponse } from 'nest-agent-query/protocol';
import { View } from '../../view/view.js';
import type { Caller } from '../caller.js';
import { Members } from '../message/members.js';
import { type Task, taskOf } from './task.js';
import { Tasks } from './tasks.js';

type Json = Record<string, unknown>;

const PAGE_SIZES = [1, 100] as const;
const DEFAULT_PAGE_SIZE = 50;

/** How many unfinished runs are read together. */
const RUNS = 500;

/** How many characters of JSON the artifacts and the histories of a page have, but at least those of one task. */
const PAGE_LENGTH = 8 * 1024 * 1024;

const NONE = new JsonPieces(['[]']);

const UNFINISHED = ['waiting', 'running', 'input_required'] as const;

/** The states of tasks, and the unfinished runs that may have them. */
const STATES: Record<string, readonly RunStatus[]> = {
  TASK_STATE_SUBMITTED: ['waiting'],
  TASK_STATE_WORKING: UNFINISHED,
  TASK_STATE_INPUT_REQUIRED: ['input_required'],
  TASK_STATE_AUTH_REQUIRED: ['input_required'],
  TASK_STATE_COMPLETED: [],
  TASK_STATE_FAILED: [],
  TASK_STATE_CANCELED: [],
  TASK_STATE_REJECTED: [],
};

/** The states of tasks that have ended, and how their runs have. */
const END_STATUSES: Record<string, RunEnd['status'] | undefined> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'cancelled',
};

/** A run with its task, which has neither artifacts nor history. */
interface Listed {
  run: RunView;
  task: Task;
}

interface ListParams {
  contextId: string | undefined;
  state: string | undefined;
  size: number;
  token: string | undefined;
  historyLength: number;
  /** Milliseconds since the epoch. As ISO 8601, a time after the year 9999 would be before all others. */
  after: number;
  hasArtifacts: boolean;
}

/** Lists tasks, those whose status is newest first. */
@Injectable()
export class TaskList {
  constructor(
    private readonly view: View,
    private readonly tasks: Tasks,
  ) {}

  /** Ended tasks are read in the order of the list. Unfinished ones, of which an owner has few, are all read and sorted. */
  async page(caller: Caller, params: Json): Promise<Json> {
    const asked = listParamsOf(params);
    const unfinished = await this.#unfinished(caller.owner, asked);
    const { runs, hasMore, total } = await this.#ended(caller.owner, asked);
    // One may have ended meanwhile.
    const ended = new Set(runs.map(({ id }) => id));
    const others = unfinished.filter(({ task }) => !ended.has(task.id));
    const rest = others.filter(({ task }) => asked.token === undefined || positionOf(task) < asked.token);
    rest.push(...runs.map((run) => ({ run, task: taskOf(run, []) })));
    rest.sort((a, b) => (positionOf(a.task) < positionOf(b.task) ? 1 : -1));
    const page = await this.#filled(caller, rest.slice(0, asked.size), asked);
    const isLast = page.length === rest.length && !hasMore;
    return {
      tasks: page,
      nextPageToken: isLast ? '' : tokenOf(page.at(-1)!),
      pageSize: asked.size,
      totalSize: others.length + total,
    };
  }

  async #unfinished(owner: string, { contextId, state, after }: ListParams): Promise<Listed[]> {
    const { agent } = this.view.endpoint;
    // One whose status changes meanwhile is read twice.
    const listed = new Map<string, Listed>();
    for (const status of state === undefined ? UNFINISHED : STATES[state]!) {
      for await (const run of this.#runs(owner, contextId, status)) {
        // Only of these, the status depends on what they ask: a run that has not started has asked nothing.
        const { inputs } = run.startedAt === null ? { inputs: [] } : await agent.inputs.of(owner, run.id);
        const task = taskOf(run, inputs);
        const isWanted = state === undefined || task.status.state === state;
        if (isWanted && Date.parse(task.status.timestamp!) >= after) listed.set(run.id, { run, task });
      }
    }
    return [...listed.values()];
  }

  async *#runs(owner: string, session: string | undefined, status: RunStatus): AsyncGenerator<RunView> {
    for (let after: string | null | undefined; after !== null;) {
      const options = { session, status, limit: RUNS, after };
      const { runs, next } = await this.view.endpoint.agent.runs(owner, options);
      yield* runs;
      after = next;
    }
  }

  #ended(owner: string, { contextId, state, after, size, token }: ListParams): Awaitable<EndedRunList> {
    const status = state === undefined ? undefined : END_STATUSES[state];
    if (state !== undefined && status === undefined) return { runs: [], hasMore: false, total: 0 };
    const [endedAt, id] = token?.split(' ') ?? [];
    return this.view.endpoint.agent.endedRuns(owner, {
      ...{ session: contextId, status, limit: size, since: new Date(after) },
      after: id === undefined ? undefined : { endedAt: endedAt!, id },
    });
  }

  async #filled(
    caller: Caller,
    listed: Listed[],
    { hasArtifacts, historyLength }: ListParams,
  ): Promise<Task[]> {
    const page: Task[] = [];
    let [length, held] = [0, 0];
    for (const { run, task } of listed) {
      const artifacts = hasArtifacts ? ((await this.tasks.artifactsOf(caller, run)) ?? NONE) : undefined;
      const history = await this.tasks.historyOf(caller, run, historyLength);
      length += (artifacts?.length ?? 0) + heldLength(history);
      if (length > PAGE_LENGTH && page.length > 0) break;
      held += heldLength([artifacts, history]);
      holdAnswer(rawResponse(caller.response), held);
      page.push({ ...task, ...(artifacts && { artifacts }), ...(history.length > 0 && { history }) });
    }
    return page;
  }
}

/** Where a task is in the list: later texts come first. */
function positionOf({ status, id }: Pick<Task, 'status' | 'id'>): string {
  return `${status.timestamp} ${id}`;
}

function tokenOf(task: Task): string {
  return Buffer.from(positionOf(task)).toString('base64url');
}

function isPosition(text: string): boolean {
  return POSITION.test(text) && !Number.isNaN(Date.parse(text.split(' ')[0]!));
}

/** @throws {QueryError} `invalid_query` with every fault */
function listParamsOf(params: Json): ListParams {
  const faults: FieldError[] = [];
  const members = new Members(params, '', faults);
  const state = members.text('status');
  const isAny = state === undefined || state === 'TASK_STATE_UNSPECIFIED';
  if (!isAny && !Object.hasOwn(STATES, state))
    members.fault('status', `must be one of ${Object.keys(STATES).join(', ')}`);
  const after = members.text('statusTimestampAfter');
  const time = after === undefined ? 0 : TIME.test(after) ? Date.parse(after) : NaN;
  if (Number.isNaN(time))
    members.fault('statusTimestampAfter', 'must be a time of ISO 8601, such as 2026-11-25T10:00:00Z');
  const token = members.text('pageToken');
  const position = token === undefined ? undefined : Buffer.from(token, 'base64url').toString();
  if (position !== undefined && !isPosition(position))
    members.fault('pageToken', 'must be "nextPageToken" of the page before');
  const read = {
    contextId: members.text('contextId'),
    state: isAny ? undefined : state,
    size: members.whole('pageSize', PAGE_SIZES) ?? DEFAULT_PAGE_SIZE,
    token: position,
    historyLength: members.whole('historyLength', [0, Number.MAX_SAFE_INTEGER]) ?? 0,
    hasArtifacts: members.flag('includeArtifacts') ?? false,
  };
  if (faults.length > 0) throw invalidQuery(faults);
  return { ...read, after: time };
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const POSITION = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [\w-]{1,100}$/;
