import { QueryError } from '../contract/errors.js';
import { MAX_UNSTORED_LENGTH, TOO_FAST } from './backpressure.js';

/** Counted for each value that waits, besides its characters of JSON: about what the shortest one takes in memory. */
const VALUE_LENGTH = 128;

/** What becomes of the values of an answer. */
interface Taking {
  store: (file: unknown) => Promise<void>;
  take: (value: unknown) => void;
  /** Counts a file that waits. Throws if the answer may not have it. */
  expect: (file: unknown) => void;
  fail: (error: unknown) => void;
}

/** Whether a value is to be stored as a file before the answer goes on. */
export function isFile(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'file';
}

/** Keeps the order of an answer that has files: what is emitted while a file is being stored waits behind it. */
export class EmittedFiles {
  #storing: Promise<void> | undefined;
  /** What waits behind the file that is being stored. Only an Observable emits more than one value meanwhile. */
  readonly #behind = new Set<{ value: unknown; length: number }>();
  #length = 0;

  constructor(private readonly taking: Taking) {}

  /** Settles when the file that is being stored, and what waits behind it, has been taken. It never rejects. */
  get storing(): Promise<void> | undefined {
    return this.#storing;
  }

  /** @throws {QueryError} `answer_too_fast` · `limit_exceeded`: what waits behind a file is too much for the memory */
  take(value: unknown): void {
    if (!this.#storing && !isFile(value)) return this.taking.take(value);
    if (this.#storing && isFile(value)) this.taking.expect(value);
    const length = VALUE_LENGTH + (isFile(value) ? 0 : lengthOf(value));
    this.#length += length;
    if (this.#length > MAX_UNSTORED_LENGTH) throw new QueryError('answer_too_fast', TOO_FAST);
    this.#behind.add({ value, length });
    this.#storing ??= this.#takeAll();
  }

  async #takeAll(): Promise<void> {
    try {
      // A set: what is added meanwhile is taken too, in its order.
      for (const waiting of this.#behind) {
        const { value, length } = waiting;
        this.#behind.delete(waiting);
        this.#length -= length;
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

/** Its characters of JSON; 0 if JSON cannot represent it. */
function lengthOf(value: unknown): number {
  try {
    return (JSON.stringify(value) as string | undefined)?.length ?? 0;
  } catch {
    return 0;
  }
}
