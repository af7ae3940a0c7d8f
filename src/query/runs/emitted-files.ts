import { QueryError } from '../contract/errors.js';
import { MAX_UNSTORED_LENGTH } from './backpressure.js';

/** Counted for each value that waits, besides its characters of JSON: about what the shortest one takes in memory. */
const VALUE_LENGTH = 128;

/** What becomes of the values of an answer. */
interface Taking {
  /** Stores a file. Rejects if that is not possible. */
  store: (file: unknown) => Promise<void>;
  /** Takes a value that is no file. */
  take: (value: unknown) => void;
  /** Throws if files of so many bytes, which wait, are more than the answer may have. */
  expect: (bytes: number) => void;
  /** The answer has failed. */
  fail: (error: unknown) => void;
}

/** A value, and what it takes in memory while it waits: a file has bytes, anything else has characters of JSON. */
interface Waiting {
  value: unknown;
  length: number;
  bytes: number;
}

/** Whether a value is to be stored as a file before the answer goes on. */
export function isFile(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'file';
}

/** Keeps the order of an answer that has files: what is emitted while a file is being stored waits behind it. */
export class EmittedFiles {
  #storing: Promise<void> | undefined;
  /** What waits behind the file that is being stored. Only an Observable emits more than one value meanwhile. */
  readonly #behind = new Set<Waiting>();
  #length = 0;
  #bytes = 0;

  constructor(private readonly taking: Taking) {}

  /** Settles when the file that is being stored, and what waits behind it, has been taken. It never rejects. */
  get storing(): Promise<void> | undefined {
    return this.#storing;
  }

  /** @throws {QueryError} `answer_too_fast` · `limit_exceeded`: what waits behind a file is too much for the memory */
  take(value: unknown): void {
    if (!this.#storing && !isFile(value)) return this.taking.take(value);
    this.#wait(waitingOf(value));
    this.#storing ??= this.#takeAll();
  }

  #wait(waiting: Waiting): void {
    this.#behind.add(waiting);
    this.#length += waiting.length;
    this.#bytes += waiting.bytes;
    if (!this.#storing) return;
    this.taking.expect(this.#bytes);
    if (this.#length <= MAX_UNSTORED_LENGTH) return;
    const detail =
      'The answer came faster than a file of it could be stored. An Observable cannot be held back: answer with an async iterable.';
    throw new QueryError('answer_too_fast', detail);
  }

  async #takeAll(): Promise<void> {
    try {
      // A set: what is added meanwhile is taken too, in its order.
      for (const waiting of this.#behind) {
        const { value, length, bytes } = waiting;
        this.#behind.delete(waiting);
        this.#length -= length;
        this.#bytes -= bytes;
        if (isFile(value)) await this.taking.store((value as { data?: unknown }).data);
        else this.taking.take(value);
      }
    } catch (error) {
      this.#behind.clear();
      this.taking.fail(error);
    }
    // In the tick in which nothing was left: a value that comes later begins anew.
    this.#storing = undefined;
  }
}

function waitingOf(value: unknown): Waiting {
  if (!isFile(value)) return { value, length: VALUE_LENGTH + lengthOf(value), bytes: 0 };
  const { content } = ((value as { data?: unknown }).data ?? {}) as { content?: Partial<Blob & Uint8Array> };
  return { value, length: VALUE_LENGTH, bytes: content?.byteLength ?? content?.size ?? 0 };
}

function lengthOf(value: unknown): number {
  try {
    return (JSON.stringify(value) as string | undefined)?.length ?? 0;
  } catch {
    // Refused in its turn.
    return 0;
  }
}
