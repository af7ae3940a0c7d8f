import {
  type Artifact,
  type Part,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
} from '@a2a-js/sdk';
import { type Envelope, log, message, progress } from 'nest-agent-query';
import { failures } from 'nest-agent-query/agents/remote';
import { notCompleted, tooManyArtifacts, unreadable } from './failures.js';
import { digestOf, envelopeOf, textOf } from './part-envelopes.js';
import { GrowingText, type PassedOn } from './passed-on.js';
import { pauseKey } from './pauses.js';

/** The most artifacts of a task: what was passed on of each is in the checkpoint. */
const MAX_ARTIFACTS = 1_000;

/** What was passed on of a task, as a checkpoint keeps it. */
export interface Position {
  task: string;
  /** By their ids: of the texts, and of the other parts. */
  artifacts: Record<string, [texts: PassedOn, others: PassedOn]>;
  hasResult: boolean;
  /** The pause that was answered last, or is being answered. */
  answering?: string | undefined;
  /** The status whose message was passed on last. */
  status?: string | undefined;
}

/** The texts of an artifact, and the digests of its other parts. */
interface Read {
  texts: GrowingText;
  others: GrowingText;
}

/** Reads what an agent answers: as one message, or as a task. Each piece is passed on once. */
export class TaskReader {
  #task: string | undefined;
  #artifacts = new Map<string, Read>();
  #hasResult: boolean;
  #status: string | undefined;
  /** The status in which the task waits for its client. */
  #pause: TaskStatus | undefined;
  /** The pause that was answered last, or is being answered. */
  answering: string | undefined;
  /** Whether the answer is complete. */
  hasEnded = false;

  constructor(position?: Position) {
    this.#task = position?.task;
    this.#hasResult = position?.hasResult ?? false;
    this.#status = position?.status;
    this.answering = position?.answering;
    for (const [id, [texts, others]] of Object.entries(position?.artifacts ?? {}))
      this.#artifacts.set(id, { texts: new GrowingText(texts), others: new GrowingText(others) });
  }

  /** The id of the task; undefined until the agent has named it. */
  get task(): string | undefined {
    return this.#task;
  }

  /** The status in which the task waits for its client; undefined if it does not. */
  get pause(): TaskStatus | undefined {
    return this.#pause;
  }

  /** Undefined where there is nothing to resume. */
  get position(): Position | undefined {
    if (this.#task === undefined) return undefined;
    const entries = [...this.#artifacts].map(([id, { texts, others }]) => [
      id,
      [texts.passedOn, others.passedOn],
    ]);
    return {
      task: this.#task,
      artifacts: Object.fromEntries(entries) as Position['artifacts'],
      hasResult: this.#hasResult,
      answering: this.answering,
      status: this.#status,
    };
  }

  /**
   * Takes what the agent has sent.
   *
   * @param isWhole whether a task has all its artifacts, as a task has that is followed
   * @returns what is new of it
   * @throws {QueryError} the task has not completed, or goes on in another way than before
   */
  take({ payload }: StreamResponse, isWhole = false): Envelope[] {
    switch (payload?.$case) {
      case 'message': {
        if (this.#task !== undefined && payload.value.taskId !== '') this.#check(payload.value.taskId);
        const { messageId, parts } = payload.value;
        const envelopes = this.#artifact(`message-${messageId}`, parts, false);
        this.hasEnded = true;
        return envelopes;
      }
      case 'task':
        return this.#snapshot(payload.value, isWhole);
      case 'artifactUpdate': {
        const { taskId, artifact, append } = payload.value;
        this.#check(taskId);
        return artifact ? this.#artifact(artifact.artifactId, artifact.parts, append) : [];
      }
      case 'statusUpdate':
        this.#check(payload.value.taskId);
        return this.#setStatus(payload.value.status);
      default:
        throw unreadable(new Error('The event has none of the members that A2A knows.'));
    }
  }

  #check(task: string): void {
    if (task === '') throw unreadable(new Error('The event names no task.'));
    this.#task ??= task;
    if (task !== this.#task) throw unreadable(new Error('The event is of another task.'));
  }

  #snapshot({ id, artifacts, status }: Task, isWhole: boolean): Envelope[] {
    this.#check(id);
    const ids = new Set(artifacts.map(({ artifactId }) => artifactId));
    if (isWhole && [...this.#artifacts.keys()].some((known) => !ids.has(known)))
      throw failures.answersDiffer();
    return [
      ...artifacts.flatMap((each: Artifact) => this.#artifact(each.artifactId, each.parts, false)),
      ...this.#setStatus(status),
    ];
  }

  /** @param append whether the parts follow what was told before; otherwise they are the artifact from its beginning */
  #artifact(id: string, parts: readonly Part[], append: boolean): Envelope[] {
    const read = this.#artifacts.get(id) ?? { texts: new GrowingText(), others: new GrowingText() };
    this.#artifacts.set(id, read);
    if (this.#artifacts.size > MAX_ARTIFACTS) throw tooManyArtifacts(MAX_ARTIFACTS);
    if (!append) {
      read.texts.begin();
      read.others.begin();
    }
    return parts.flatMap((part) => this.#part(id, part, read));
  }

  #part(id: string, part: Part, { texts, others }: Read): Envelope[] {
    if (part.content === undefined) return [];
    if (part.content.$case === 'text') {
      const fresh = texts.take(part.content.value);
      if (fresh === undefined) throw failures.answersDiffer();
      return fresh === '' ? [] : [message(fresh, { id })];
    }
    const isNew = others.take(digestOf(part));
    if (isNew === undefined) throw failures.answersDiffer();
    const envelope = isNew === '' ? undefined : envelopeOf(part, id, this.#hasResult);
    this.#hasResult ||= envelope?.type === 'result';
    return envelope ? [envelope] : [];
  }

  #setStatus(status: TaskStatus | undefined): Envelope[] {
    this.#pause = undefined;
    const parts = status?.message?.parts ?? [];
    switch (status?.state) {
      case TaskState.TASK_STATE_COMPLETED:
        return this.#complete(status, parts);
      case TaskState.TASK_STATE_FAILED:
        throw this.#ended('failed', parts);
      case TaskState.TASK_STATE_REJECTED:
        throw this.#ended('rejected', parts);
      case TaskState.TASK_STATE_CANCELED:
        throw this.#ended('canceled', parts);
      case TaskState.TASK_STATE_INPUT_REQUIRED:
      case TaskState.TASK_STATE_AUTH_REQUIRED:
        this.#pause = status;
        return [];
      default:
        return this.#isNew(status) ? told(parts) : [];
    }
  }

  #ended(what: 'failed' | 'rejected' | 'canceled', parts: readonly Part[]): Error {
    this.hasEnded = true;
    return notCompleted(what, textOf(parts));
  }

  /** Some agents answer with the message of their last status, and have no artifacts. */
  #complete(status: TaskStatus, parts: readonly Part[]): Envelope[] {
    this.hasEnded = true;
    if ([...this.#artifacts.values()].some(({ texts, others }) => texts.isBehind || others.isBehind))
      throw failures.answersDiffer();
    if (this.#artifacts.size > 0) return this.#isNew(status) ? told(parts) : [];
    return this.#artifact(`message-${status.message?.messageId ?? ''}`, parts, false);
  }

  /** Whether the message of a status was not passed on yet: a task has its last one. */
  #isNew(status: TaskStatus | undefined): boolean {
    const key = status?.message && pauseKey(status);
    if (key === undefined || key === this.#status) return false;
    this.#status = key;
    return true;
  }
}

/** What a status says while the task works. */
function told(parts: readonly Part[]): Envelope[] {
  const text = textOf(parts);
  const done = parts.flatMap(({ content }) => (content?.$case === 'data' ? progressOf(content.value) : []));
  return [...(text === '' ? [] : [log(text)]), ...done];
}

/** An envelope `progress` of a service as this one. */
function progressOf(value: unknown): Envelope[] {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: Record<string, unknown> | null };
  const { done, total, unit, label } = data ?? {};
  if (type !== 'progress' || !isCount(done)) return [];
  const details = {
    ...(isCount(total) && { total }),
    ...(typeof unit === 'string' && { unit }),
    ...(typeof label === 'string' && { label }),
  };
  return [progress(done, details)];
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}
