import { isTransient } from './agent-query-error.js';
import { unlessAborted } from './signals.js';

/** The longest wait that the client chooses itself, and the longest that it accepts from `Retry-After`. */
const LONGEST_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 60_000;

/** How often a request is tried again to which no response has ever come: the address may be wrong. */
const UNANSWERED = 3;

/** What `onResume` is told before the client tries again. */
export interface ResumeInfo {
  /** The number of this try since the last progress, from 1. */
  attempt: number;
  /** The milliseconds until this try. */
  delayMs: number;
  /** The number of the last envelope that was read; 0 if none was. */
  after: number;
  /** Why the try before failed. */
  error: Error;
}

/** Decides whether and when a request is tried again. */
export class Retries {
  /** What the service asks for with `retry:`. */
  retryMs = 1000;
  /** Whether the service has ever answered. */
  isAnswered = false;
  /** The tries since the last progress. */
  attempt = 0;

  constructor(private readonly most: number) {}

  /**
   * Waits before the next try.
   *
   * @throws `error` itself, if another try is of no use or was one too many
   */
  async wait(
    error: unknown,
    after: number,
    signal: AbortSignal | undefined,
    onResume?: (info: ResumeInfo) => void,
  ): Promise<void> {
    signal?.throwIfAborted();
    if (!isTransient(error)) throw error;
    this.isAnswered ||= error.status !== undefined;
    const most = this.isAnswered ? this.most : Math.min(this.most, UNANSWERED);
    const asked = error.retryAfterMs ?? 0;
    if (this.attempt >= most || asked > LONGEST_RETRY_AFTER_MS) {
      this.attempt = 0;
      throw error;
    }
    const attempt = (this.attempt += 1);
    const delayMs = Math.max(asked, this.#backoff());
    onResume?.({ attempt, delayMs, after, error });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waiting = new Promise<void>((resolve) => (timer = setTimeout(resolve, delayMs)));
    await unlessAborted(waiting, signal).finally(() => clearTimeout(timer));
  }

  /** Doubles with each try. The random half keeps clients that were cut together from coming back together. */
  #backoff(): number {
    const full = Math.min(this.retryMs * 2 ** (this.attempt - 1), LONGEST_MS);
    return Math.round(full * (0.5 + Math.random() / 2));
  }
}
