import { Injectable } from '@nestjs/common';
import { type InputView, QueryError, type RunStream, type RunView } from 'nest-agent-query';
import {
  type EventStream,
  idempotencyKeyOf,
  invalidQuery,
  type ReceivedBody,
} from 'nest-agent-query/protocol';
import { EventForm } from '../../view/event-form.js';
import { digestOf } from '../../view/json.js';
import { readLog } from '../../view/read-log.js';
import { View } from '../../view/view.js';
import type { A2aModuleOptions } from '../a2a-options.js';
import type { Caller } from '../caller.js';
import { inputModesOf } from '../card/agent-card.js';
import { unsupportedOperation } from '../refusals.js';
import { namesOf } from '../tasks/status.js';
import { MESSAGE_KEY, type Task, taskOf } from '../tasks/task.js';
import type { Shown } from '../tasks/task-form.js';
import { Tasks } from '../tasks/tasks.js';
import { answersOf, type PlacedAnswer } from './answers.js';
import { placeOf, queryPartsOf } from './parts.js';
import { type SendRequest, sendRequestOf } from './send-request.js';

/** A run that a message has submitted or answered. */
interface Begun {
  run: RunView;
  stream: RunStream;
  /** Where the message is for a task that exists: what its stream begins with. */
  snapshot?: Shown['snapshot'];
  /** What the client must know; undefined if the task goes on. */
  hint?: string;
}

/** What a client is told whose message answers nothing. */
const HINT =
  'The message answers nothing of this. Send a part with the data {"answers": [{"id", "outcome": "answered", "value"}]}.';

/** Messages: they submit runs, and answer what runs ask. */
@Injectable()
export class Sending {
  constructor(
    private readonly view: View<A2aModuleOptions>,
    private readonly tasks: Tasks,
  ) {}

  /** Waits until the task has ended or needs its client, unless the request says that it does not wait. */
  async send(caller: Caller, params: unknown, body: ReceivedBody): Promise<object> {
    const { owner, response } = caller;
    const asked = sendRequestOf(params);
    const { run, stream, hint } = await this.#begin(caller, asked, body);
    if (!asked.returnsAtOnce && hint === undefined) {
      const resolved = await this.tasks.resolved(owner, run.id);
      await readLog(stream, new UntilPause(resolved), { response });
    }
    const now = await this.tasks.find(owner, run.id);
    const task = await this.tasks.shown(caller, now, asked.historyLength);
    return caller.face.sent(hint === undefined ? task : hinted(task, hint));
  }

  /** The events of a task: all of one that the message begins, and those since the message of any other. */
  async stream(caller: Caller, params: unknown, body: ReceivedBody): Promise<EventStream> {
    const asked = sendRequestOf(params);
    const { run, stream, snapshot } = await this.#begin(caller, asked, body);
    return this.tasks.stream(caller, run, stream, snapshot ? { snapshot } : {});
  }

  async #begin(caller: Caller, asked: SendRequest, body: ReceivedBody): Promise<Begun> {
    if (asked.taskId === undefined) return this.#submit(caller, asked, body);
    await body.release();
    return this.#answer(caller.owner, asked.taskId, asked);
  }

  /** The task goes on whether or not anybody follows it (A2A 1.0 §3.5.2). */
  async #submit(caller: Caller, asked: SendRequest, body: ReceivedBody): Promise<Begun> {
    const { owner, request, route } = caller;
    const { messageId, contextId, kwargs, metadata } = asked;
    const parts = queryPartsOf(asked.parts, inputModesOf(this.view.options.card));
    const named = digestOf([contextId ?? null, messageId]);
    const session_id = contextId ?? `a2a-${named.slice(0, 32)}`;
    const query = {
      parts,
      kwargs: { ...kwargs, session_id },
      metadata: metadata as never,
      ownMetadata: { [MESSAGE_KEY]: messageId },
    };
    const options = {
      ...{ owner, request, detached: true },
      idempotencyKey: idempotencyKeyOf(request) ?? `a2a:${named}`,
      path: this.view.queryPath(request, route),
    };
    const stream = await this.view.endpoint.submit(body, query, options, placeOf);
    const { run } = await stream.admitted;
    return { run: run!, stream };
  }

  async #answer(owner: string, taskId: string, { contextId, parts }: SendRequest): Promise<Begun> {
    const run = await this.tasks.find(owner, taskId);
    const names = namesOf(run);
    if (contextId !== undefined && contextId !== names.contextId)
      throw invalidQuery([{ pointer: '/message/contextId', detail: 'must be that of the task, or absent' }]);
    const { inputs } = await this.#agent.inputs.of(owner, taskId);
    const answers = answersOf(parts, inputs);
    if (answers.length === 0) return this.#unanswered(owner, run, inputs);
    const given = answers.map(({ answer }) => answer);
    const { before = 0 } = await this.#agent.inputs
      .answer(owner, taskId, given, { detached: true })
      .catch((error: unknown) => throwPlaced(error, answers, run));
    const left = inputs.some(({ id, resolved }) => !resolved && !given.some((answer) => answer.id === id));
    return {
      run,
      stream: this.#agent.follow(owner, taskId, 0),
      snapshot: { after: before, task: taskOf(run, inputs) },
      ...(left && { hint: 'The task needs the other answers too.' }),
    };
  }

  /** A message that answers nothing changes nothing. */
  #unanswered(owner: string, run: RunView, inputs: readonly InputView[]): Begun {
    if (run.endedAt !== null) throw ended();
    if (run.status !== 'input_required')
      throw unsupportedOperation(
        'The task asks nothing at present. Send the message without "taskId": it becomes the next task of the context.',
      );
    const task = hinted(taskOf(run, inputs), HINT);
    const stream = this.#agent.follow(owner, run.id, 0);
    return { run, stream, snapshot: { after: run.events, task, isLast: true }, hint: HINT };
  }

  get #agent() {
    return this.view.endpoint.agent;
  }
}

/** Reads a log until the run has ended, or asks what is not resolved. */
class UntilPause extends EventForm {
  constructor(private readonly resolved: ReadonlySet<string>) {
    super();
  }

  protected override read(line: string): void {
    if (!line.startsWith('{"type":"input_required"')) return;
    const { data } = JSON.parse(line) as { data: { requests: { id: string }[] } };
    this.isOver = data.requests.some(({ id }) => !this.resolved.has(id));
  }
}

function hinted(task: Task, text: string): Task {
  const { message = {}, ...status } = task.status;
  const parts = (message['parts'] ?? []) as object[];
  return { ...task, status: { ...status, message: { ...message, parts: [...parts, { text }] } } };
}

function ended(): QueryError {
  return unsupportedOperation(
    'The task has ended, and takes no more messages. Send one without "taskId", with the same "contextId".',
  );
}

/** Throws a refusal of answers with the faults where the request has them. */
function throwPlaced(error: unknown, answers: readonly PlacedAnswer[], { endedAt }: RunView): never {
  if (!(error instanceof QueryError)) throw error;
  if (error.code === 'run_ended' || (error.status === 409 && endedAt !== null)) throw ended();
  if (!error.extras.errors) throw error;
  throw invalidQuery(
    error.extras.errors.map(({ pointer, detail }) => {
      const [, , index, ...rest] = pointer.split('/');
      return { pointer: [answers[Number(index)]?.pointer ?? '/message/parts', ...rest].join('/'), detail };
    }),
  );
}
