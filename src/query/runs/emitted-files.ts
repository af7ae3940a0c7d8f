import { QueryError } from '../contract/errors.js';

/** The most values that may wait behind a file. Only an Observable emits before the file is stored. */
const MAX_BEHIND = 10_000;

/** What becomes of the values of an answer. */
interface Taking {
  /** Stores a file. Rejects if that is not possible. */
  store: (file: unknown) => Promise<void>;
  /** Takes a value that is no file. */
  take: (value: unknown) => void;
  /** The answer has failed. */
  fail: (error: unknown) => void;
}

/** Whether a value is to be stored as a file before the answer goes on. */
export function isFile(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'file';
}

/** Keeps the order of an answer that has files: what is emitted while a file is being stored waits behind it. */
export class EmittedFiles {
  #storing: Promise<void> | undefined;
  #behind: unknown[] = [];

  constructor(private readonly taking: Taking) {}

  /** Settles when the file that is being stored, and what waits behind it, has been taken. It never rejects. */
  get storing(): Promise<void> | undefined {
    return this.#storing;
  }

  /** @throws {QueryError} `answer_too_fast`: too many values wait behind a file */
  take(value: unknown): void {
    if (!this.#storing && !isFile(value)) return this.taking.take(value);
    if (this.#behind.length >= MAX_BEHIND) {
      const detail =
        'The answer came faster than a file of it could be stored. An Observable cannot be held back: answer with an async iterable.';
      throw new QueryError('answer_too_fast', detail);
    }
    this.#behind.push(value);
    this.#storing ??= this.#takeAll();
  }

  async #takeAll(): Promise<void> {
    try {
      while (this.#behind.length > 0) {
        const values = this.#behind;
        this.#behind = [];
        for (const value of values) {
          if (isFile(value)) await this.taking.store((value as { data?: unknown }).data);
          else this.taking.take(value);
        }
      }
    } catch (error) {
      this.#behind = [];
      this.taking.fail(error);
    }
    // In the tick in which nothing was left: a value that comes later begins anew.
    this.#storing = undefined;
  }
}
