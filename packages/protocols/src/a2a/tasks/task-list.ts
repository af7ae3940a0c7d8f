import { Buffer } from 'node:buffer';
import { Injectable } from '@nestjs/common';
import type { FieldError, RunListOptions, RunView } from 'nest-agent-query';
import { heldLength, holdAnswer, invalidQuery, JsonPieces, rawResponse } from 'nest-agent-query/protocol';
import { View } from '../../view/view.js';
import type { Caller } from '../caller.js';
import { Members } from '../message/members.js';
import { type Task, taskOf } from './task.js';
import { Tasks } from './tasks.js';

type Json = Record<string, unknown>;

const PAGE_SIZES = [1, 100] as const;
const DEFAULT_PAGE_SIZE = 50;

/** How many runs are read together. */
const RUNS = 500;

/** How many characters of JSON the artifacts and the histories of a page have, but at least those of one task. */
const PAGE_LENGTH = 8 * 1024 * 1024;

const NONE = new JsonPieces(['[]']);

/** The states of tasks, and the runs that may have them: all runs if the status alone does not tell. */
const STATES: Record<string, RunListOptions['status']> = {
  TASK_STATE_SUBMITTED: 'waiting',
  TASK_STATE_WORKING: undefined,
  TASK_STATE_INPUT_REQUIRED: 'input_required',
  TASK_STATE_AUTH_REQUIRED: 'input_required',
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'cancelled',
  TASK_STATE_REJECTED: undefined,
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

  async page(caller: Caller, params: Json): Promise<Json> {
    const asked = listParamsOf(params);
    const all = await this.#matching(caller.owner, asked);
    const rest = all.filter(({ task }) => asked.token === undefined || positionOf(task) < asked.token);
    const page = await this.#filled(caller, rest.slice(0, asked.size), asked);
    const next = page.length < rest.length ? tokenOf(page.at(-1)!) : '';
    return { tasks: page, nextPageToken: next, pageSize: asked.size, totalSize: all.length };
  }

  /** All of them: the order is that of their times, which no store has, and the answer has their number. */
  async #matching(owner: string, { contextId, state, after }: ListParams): Promise<Listed[]> {
    const runs = await this.#runs(owner, contextId, state === undefined ? undefined : STATES[state]);
    const listed: Listed[] = [];
    for (const run of runs) {
      // Only of these, the status depends on what they ask.
      const { inputs } =
        run.endedAt === null ? await this.view.endpoint.agent.inputs.of(owner, run.id) : { inputs: [] };
      const task = taskOf(run, inputs);
      const isWanted = state === undefined || task.status.state === state;
      if (isWanted && Date.parse(task.status.timestamp!) >= after) listed.push({ run, task });
    }
    return listed.sort((a, b) => (positionOf(a.task) < positionOf(b.task) ? 1 : -1));
  }

  async #runs(
    owner: string,
    session: string | undefined,
    status: RunListOptions['status'],
  ): Promise<RunView[]> {
    const { agent } = this.view.endpoint;
    const all: RunView[] = [];
    for (let after: string | null | undefined; after !== null;) {
      const { runs, next } = await agent.runs(owner, { session, status, limit: RUNS, after });
      all.push(...runs);
      after = next;
    }
    return all;
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
  if (position !== undefined && !POSITION.test(position))
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
