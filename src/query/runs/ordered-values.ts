import type { FileEnvelope, TurnFile } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import type { AnswerFiles } from '../files/answer-files.js';
import type { RunRecord } from '../ports/run-store.js';
import type { LiveRun, RunnerServices } from './runner-services.js';

/**
 * So many characters of JSON may be emitted before the store has stored them. Every store can take so much; an async iterable
 * never comes near.
 */
export const MAX_UNSTORED_LENGTH = 32 * 1024 * 1024;

/** Counted for each value that waits, besides its characters of JSON: about what the shortest one takes in memory. */
const VALUE_LENGTH = 128;

export function tooFast(): QueryError {
  const detail =
    'The answer came faster than it could be stored. An Observable cannot be held back: let the agent emit less at once, or ' +
    'answer with an async iterable.';
  return new QueryError('answer_too_fast', detail);
}

/** Whether a value is to be stored as a file before the answer goes on. */
export function isFile(value: unknown): value is { type: 'file'; data?: object } {
  return typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'file';
}

/** What is done in the place of a value. It never rejects. */
class Step {
  constructor(readonly take: () => Promise<void>) {}
}

/**
 * Stores the files of an answer, asks its questions, and keeps the order of the answer: what is emitted while a file is being stored
 * or the run asks waits behind it.
 */
export class OrderedValues {
  readonly #contents: AnswerFiles;
  /** Settles when what takes its time now, and what waits behind it, has been taken. It never rejects. */
  storing: Promise<void> | undefined;
  /** What waits behind what takes its time now. Only an Observable emits more than one value meanwhile. */
  readonly #behind = new Set<{ value: unknown; length: number }>();
  #length = 0;

  constructor(
    private readonly services: Pick<RunnerServices, 'files' | 'store' | 'settings'>,
    private readonly run: Pick<LiveRun, 'hasEnded' | 'stopFailed'>,
    private readonly record: RunRecord,
    private readonly write: (value: unknown) => void,
  ) {
    this.#contents = services.files.ofAnswer();
  }

  /** @throws {QueryError} `answer_too_fast` · `limit_exceeded`: what waits behind a file is too much for the memory */
  take(value: unknown): void {
    if (!this.storing && !isFile(value)) return this.write(value);
    if (this.storing && isFile(value)) this.#contents.expect(value);
    this.#add(value, VALUE_LENGTH + (isFile(value) ? 0 : lengthOf(value)));
  }

  inTurn<T>(step: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(new Step(() => step().then(resolve, reject)), VALUE_LENGTH);
    });
  }

  #add(value: unknown, length: number): void {
    this.#length += length;
    if (this.#length > MAX_UNSTORED_LENGTH) throw tooFast();
    this.#behind.add({ value, length });
    this.storing ??= this.#takeAll();
  }

  /** The run has stopped: the file that is being received is not wanted any more. */
  stop(): void {
    this.#contents.stop();
  }

  async #takeAll(): Promise<void> {
    // A set: what is added meanwhile is taken too, in its order.
    for (const waiting of this.#behind) {
      const { value, length } = waiting;
      this.#behind.delete(waiting);
      this.#length -= length;
      try {
        if (value instanceof Step) await value.take();
        else if (isFile(value)) await this.#store(value.data);
        else this.write(value);
      } catch (error) {
        // What waits behind is dropped by the run that has ended. Whoever waits for a step is told.
        this.run.stopFailed(error);
      }
    }
    // In the tick in which nothing was left: a value that comes later begins anew.
    this.storing = undefined;
  }

  async #store(data: unknown): Promise<void> {
    if (this.run.hasEnded) return;
    const { record, services } = this;
    const { name, mimeType, content } = await this.#contents.receive(data);
    const { size, sha256 } = content;
    try {
      const file: TurnFile = { type: 'file', name, mimeType, size, sha256 };
      if (!this.run.hasEnded)
        await services.files.keepOfAnswer(services.store, record, file, await content.file(name, mimeType));
    } finally {
      await content.discard();
    }
    const path = `${record.path ?? services.settings.path}/${record.id}/files/${sha256}`;
    this.write({ type: 'file', data: { name, mimeType, size, sha256, path } } satisfies FileEnvelope);
  }
}

function lengthOf(value: unknown): number {
  try {
    return (JSON.stringify(value) as string | undefined)?.length ?? 0;
  } catch {
    return 0;
  }
}
