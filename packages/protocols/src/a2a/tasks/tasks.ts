import { Injectable } from '@nestjs/common';
import { type FieldError, type InputView, QueryError, type RunStream, type RunView } from 'nest-agent-query';
import { cursorOf, EventStream, invalidQuery, type JsonPieces } from 'nest-agent-query/protocol';
import { readLog } from '../../view/read-log.js';
import { View } from '../../view/view.js';
import { originOf } from '../addresses.js';
import type { Caller } from '../caller.js';
import { Members } from '../message/members.js';
import { taskNotCancelable, taskNotFound, unsupportedOperation } from '../refusals.js';
import { wantsCursors } from '../service-parameters.js';
import { ArtifactReader } from './artifacts.js';
import { END_STATES } from './status.js';
import { historyOf, type Task, taskOf } from './task.js';
import { type Shown, TaskForm } from './task-form.js';

type Json = Record<string, unknown>;

/** How much of its history a task shows. */
const HISTORY = [0, Number.MAX_SAFE_INTEGER] as const;

/** Finds, shows, follows and cancels runs as tasks. */
@Injectable()
export class Tasks {
  constructor(private readonly view: View) {}

  async get(caller: Caller, params: Json): Promise<object> {
    const { id, historyLength } = taskParamsOf(params);
    return caller.face.task(await this.shown(caller, await this.find(caller.owner, id), historyLength));
  }

  async cancel(caller: Caller, params: Json): Promise<object> {
    const { id } = taskParamsOf(params);
    requireNotEnded(caller, await this.find(caller.owner, id));
    const { run } = await this.#agent.cancel(caller.owner, id);
    // It may have ended meanwhile.
    requireNotEnded(caller, run);
    return caller.face.task(await this.shown(caller, run));
  }

  /** Follows a task that has not ended: from its present state on; or, with a cursor, after the event that the client has. */
  async subscribe(caller: Caller, params: Json): Promise<EventStream> {
    const { id } = taskParamsOf(params);
    const { owner, request } = caller;
    const run = await this.find(owner, id);
    const cursor = cursorOf(request);
    if (cursor && cursor.runId !== id)
      throw invalidQuery([{ pointer: '/id', detail: 'must be the task that Last-Event-ID belongs to' }]);
    const hasEnded = run.endedAt !== null;
    if (!cursor && hasEnded && !caller.face.showsEnded)
      throw unsupportedOperation('The task has ended: nothing more comes. Get it with GetTask.');
    const stream = this.#agent.follow(owner, id, 0, { request });
    if (cursor) return this.stream(caller, run, stream, { from: cursor.seq });
    const { inputs } = await this.#agent.inputs.of(owner, id);
    const snapshot = { after: run.events, task: taskOf(run, inputs), isLast: hasEnded };
    return this.stream(caller, run, stream, { snapshot });
  }

  /** A stream of a run, which ends where the run needs its client. */
  async stream(
    caller: Caller,
    run: RunView,
    stream: RunStream,
    shown: Pick<Shown, 'from' | 'snapshot'>,
  ): Promise<EventStream> {
    const { owner, request, face, frame } = caller;
    const resolved = await this.resolved(owner, run.id);
    const all = { ...shown, resolved, face, frame, hasCursors: wantsCursors(request) };
    return new EventStream(stream, new TaskForm(run, originOf(request), all));
  }

  /** @throws {QueryError} `not_found` */
  async find(owner: string, id: string): Promise<RunView> {
    try {
      return await this.#agent.find(owner, id);
    } catch (error) {
      throw error instanceof QueryError && error.code === 'not_found' ? taskNotFound() : error;
    }
  }

  /** The ids of the requests of a run that are resolved. */
  async resolved(owner: string, runId: string): Promise<ReadonlySet<string>> {
    const { inputs } = await this.#agent.inputs.of(owner, runId);
    return new Set(inputs.flatMap(({ id, resolved }) => (resolved ? [id] : [])));
  }

  /**
   * A task with its artifacts and its history.
   *
   * @param historyLength the most messages of the history, the newest ones. Default: all
   */
  async shown(caller: Caller, run: RunView, historyLength?: number): Promise<Task> {
    const { inputs } = await this.#agent.inputs.of(caller.owner, run.id);
    const { metadata, ...task } = taskOf(run, inputs);
    const artifacts = await this.artifactsOf(caller, run);
    const history = await this.historyOf(caller, run, historyLength, inputs);
    return {
      ...task,
      ...(artifacts && { artifacts }),
      ...(history.length > 0 && { history }),
      ...(metadata && { metadata }),
    };
  }

  /** The artifacts of a task, as a list; undefined if it has none. */
  async artifactsOf(caller: Caller, run: RunView): Promise<JsonPieces | undefined> {
    const { owner, request, response, face } = caller;
    const reader = new ArtifactReader(originOf(request), face);
    const stream = this.#agent.follow(owner, run.id, 0);
    await readLog(stream, reader, { response, until: run.events });
    return reader.artifacts.list;
  }

  /** @param length the most messages. Default: all @param known what the run has asked. Default: it is read */
  async historyOf(
    { owner, request, route }: Caller,
    run: RunView,
    length = Infinity,
    known?: readonly InputView[],
  ): Promise<Json[]> {
    if (length === 0) return [];
    const inputs = known ?? (await this.#agent.inputs.of(owner, run.id)).inputs;
    const parts = await this.#agent.parts(owner, run.id);
    const files = `${originOf(request)}${this.view.queryPath(request, route) ?? ''}/${run.id}/files`;
    const history = historyOf(run, inputs, parts, (sha256) => `${files}/${sha256}`);
    return history.slice(-length);
  }

  get #agent() {
    return this.view.endpoint.agent;
  }
}

/** @throws {QueryError} `task_not_cancelable`. A task that is cancelled already is cancelled again. */
function requireNotEnded({ face }: Caller, { status }: RunView): void {
  if (status !== 'completed' && status !== 'failed') return;
  throw taskNotCancelable(face.status({ state: END_STATES[status] }).state);
}

/** @throws {QueryError} `invalid_query` */
function taskParamsOf(params: Json): { id: string; historyLength: number | undefined } {
  const faults: FieldError[] = [];
  const members = new Members(params, '', faults);
  const id = members.text('id');
  const historyLength = members.whole('historyLength', HISTORY);
  if (id === undefined && faults.length === 0) members.fault('id', 'must be present: the id of a task');
  if (faults.length > 0) throw invalidQuery(faults);
  return { id: id!, historyLength };
}
