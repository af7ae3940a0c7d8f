import type { Envelope, RunEnd, RunView } from 'nest-agent-query';
import { AskedRequests, type Piece, piecesOf } from 'nest-agent-query/protocol';
import { chunkOf, EventForm } from '../../view/event-form.js';
import type { Face } from '../face.js';
import { CURSOR_EXTENSION } from '../service-parameters.js';
import { type ArtifactChange, Artifacts } from './artifacts.js';
import {
  agentMessage,
  askingState,
  END_STATES,
  failureMessage,
  namesOf,
  question,
  type TaskNames,
  type TaskState,
} from './status.js';
import { submittedTask, type Task } from './task.js';

/** Which part of a task a stream shows, and how. */
export interface Shown {
  /** How many events the client has. Default 0. */
  from?: number;
  /**
   * The stream begins with the task as it was after this envelope, and its artifacts until then. `isLast`: and ends with it. Default:
   * it begins with the first event.
   */
  snapshot?: { after: number; task: Task; isLast?: boolean };
  /** The requests that were resolved already: where the run has asked them, the stream does not end. */
  resolved: ReadonlySet<string>;
  /** Whether each event says its number, for a client that resumes. */
  hasCursors: boolean;
  /** How the events are written. */
  face: Face;
  /** What is before and after an event: the members of a JSON-RPC response. */
  frame: readonly [string, string];
}

/** Writes a log as the events of a task: the task itself, updates of its artifacts, and of its status. */
export class TaskForm extends EventForm {
  readonly #names: TaskNames;
  readonly #artifacts: Artifacts;
  #isWorking = false;
  readonly #asked = new AskedRequests();
  /** The names of the task in each event, as JSON members. */
  readonly #head: string;

  /** @param origin of the URLs of files */
  constructor(
    private readonly run: RunView,
    origin: string,
    private readonly shown: Shown,
  ) {
    super(shown.snapshot ? Infinity : shown.from);
    this.#names = namesOf(run);
    this.#artifacts = new Artifacts(origin, shown.face, this);
    const { id: taskId, contextId } = this.#names;
    this.#head = JSON.stringify({ taskId, contextId }).slice(1, -1);
  }

  override get held(): number {
    return this.#artifacts.held;
  }

  override headers(): Record<string, string> {
    return this.shown.hasCursors ? { 'A2A-Extensions': CURSOR_EXTENSION } : {};
  }

  protected override begin(): void {
    const number = this.number + 1;
    this.writePieces(this.#taskData(submittedTask(this.run), number), this.#fieldsOf(number));
    this.#snapshot(0);
  }

  protected override read(line: string, seq: number): void {
    const chunk = chunkOf(line);
    if (chunk === undefined) this.#envelope(JSON.parse(line) as Envelope, seq);
    else this.#chunk(chunk, seq);
    this.#snapshot(seq);
  }

  #chunk(chunk: string, seq: number): void {
    const change = this.#artifacts.chunk(chunk, undefined, seq);
    if (!this.#isWorking) this.#work();
    if (change) this.#change(change);
  }

  #envelope(envelope: Envelope, seq: number): void {
    const { type, data } = envelope;
    const changes = this.#artifacts.read(envelope, seq);
    if (type === 'done') return this.#done(data as RunEnd);
    if (this.#asked.read(envelope)) return this.#work();
    if (type === 'input_required' || type === 'input_resolved') return this.#pause();
    // The service itself writes into the log of a run that still waits.
    if (type === 'log') return this.#tell(seq, { text: (data as { message: string }).message });
    if (!OF_ANSWER.has(type)) {
      this.#isWorking = true;
      this.#tell(seq, { data: envelope, mediaType: 'application/json' });
    } else if (!this.#isWorking) this.#work();
    for (const change of changes) this.#change(change);
  }

  /** What a client is told, and need not keep. */
  #tell(seq: number, part: object): void {
    const state = this.#isWorking ? 'TASK_STATE_WORKING' : 'TASK_STATE_SUBMITTED';
    this.#status(state, agentMessage(this.#names, seq, [part]));
  }

  #work(): void {
    this.#isWorking = true;
    this.#status('TASK_STATE_WORKING');
  }

  /** A stream ends where the task needs its client, unless that has been done by now. */
  #pause(): void {
    const { open } = this.#asked;
    const isOpen = open.some(({ id }) => !this.shown.resolved.has(id));
    this.#completeTexts();
    this.#status(askingState(open), question(this.#names, open), isOpen);
    this.isOver = isOpen && this.number > this.from;
  }

  #done(end: RunEnd): void {
    this.#completeTexts();
    // A client that has the last event already gets it again: of an empty stream it would not know that all is over.
    if (this.from !== Infinity) this.from = Math.min(this.from, this.number);
    const message = end.status === 'failed' ? failureMessage(this.#names, end.error) : undefined;
    this.#status(END_STATES[end.status], message, true);
  }

  #completeTexts(): void {
    if (!this.shown.face.completesTexts) return;
    for (const change of this.#artifacts.complete()) this.#change(change);
  }

  #change({ artifact, append, isLast }: ArtifactChange): void {
    const flags = `${append ? ',"append":true' : ''}${isLast ? ',"lastChunk":true' : ''}`;
    this.#update('artifactUpdate', '"artifact":', ...artifact, flags);
  }

  /** @param isLast whether the stream ends with it */
  #status(state: TaskState, message?: Record<string, unknown>, isLast = false): void {
    const { face } = this.shown;
    const status = JSON.stringify(face.status({ state, ...(message && { message }) }));
    this.#update('statusUpdate', `"status":${status}${face.more(isLast)}`);
  }

  /** @param members those of the event besides the names, as JSON */
  #update(kind: 'statusUpdate' | 'artifactUpdate', ...members: Piece[]): void {
    const number = this.number + 1;
    const { face, frame, hasCursors } = this.shown;
    const [head, tail] = face.events[kind];
    const metadata = hasCursors ? `,"metadata":{"${CURSOR_EXTENSION}":${number}}` : '';
    const before = `${frame[0]}${head}${this.#head},`;
    this.writePieces([before, ...members, `${metadata}${tail}${frame[1]}`], this.#fieldsOf(number));
  }

  #snapshot(seq: number): void {
    const { snapshot } = this.shown;
    if (snapshot?.after !== seq) return;
    const artifacts = this.#artifacts.list;
    const task = { ...snapshot.task, ...(artifacts && { artifacts }) };
    this.replace(this.#taskData(task, this.number), this.#fieldsOf(this.number));
    if (snapshot.isLast) this.isOver = true;
  }

  #taskData({ metadata, ...task }: Task, number: number): Piece[] {
    const all = { ...metadata, ...(this.shown.hasCursors && { [CURSOR_EXTENSION]: number }) };
    const { face, frame } = this.shown;
    const told = { ...task, ...(Object.keys(all).length > 0 && { metadata: all }) };
    return [frame[0], ...piecesOf(face.sent(told)), frame[1]];
  }

  #fieldsOf(number: number): string {
    return this.shown.hasCursors ? `id: ${this.#names.id}.${number}\n` : '';
  }
}

/** What is in artifacts, and reasoning, which is no output: these tell no status of their own. */
const OF_ANSWER = new Set(['message', 'reasoning', 'file', 'result', 'source']);
