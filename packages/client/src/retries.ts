import { isTransient } from './agent-query-error.js';
import { unlessAborted } from './signals.js';

/** The longest wait that is chosen here. */
const LONGEST_MS = 30_000;

/** The longest wait of all, whatever `Retry-After` asks for. A timer of more than 2 ** 31 ms would end at once. */
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

/**
 * Decides whether and when a request is tried again.
 *
 * @example
 * const retries = new Retries(8);
 * for (;;) {
 *   try {
 *     return await request();
 *   } catch (error) {
 *     await retries.wait(error, 0, signal);
 *   }
 * }
 */
export class Retries {
  /** The first wait. A client takes what the service asks for with `retry:`. */
  retryMs = 1000;
  /** Whether the service has ever answered. */
  isAnswered = false;
  /** The tries since the last progress. */
  attempt = 0;
  #isHurried = false;
  #wake: (() => void) | undefined;

  /**
   * @param most how many tries there may be without progress
   * @param patienceMs a service that asks for more milliseconds is not tried again. Default 60,000
   */
  constructor(
    private readonly most: number,
    private readonly patienceMs = LONGEST_RETRY_AFTER_MS,
  ) {}

  /**
   * Waits before the next try: at least as long as the service asks, at most a minute.
   *
   * @throws `error` itself, if another try is of no use or was one too many · the reason of the signal
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
    if (this.attempt >= most || asked > this.patienceMs) {
      this.attempt = 0;
      throw error;
    }
    const delayMs = Math.round(Math.min(Math.max(asked, this.#chosenMs()), LONGEST_RETRY_AFTER_MS));
    this.attempt += 1;
    onResume?.({ attempt: this.attempt, delayMs, after, error });
    await waited(delayMs, signal);
  }

  /**
   * Waits as long as the service has asked for with `retry:`, where nothing has failed: nobody is told, and no try is counted.
   *
   * @throws the reason of the signal
   */
  async pause(signal: AbortSignal | undefined): Promise<void> {
    this.attempt = 0;
    const hurried = new Promise<void>((resolve) => (this.#wake = resolve));
    if (!this.#isHurried) await waited(this.#chosenMs(), signal, hurried);
    this.#isHurried = false;
  }

  /** Ends the pause; outside of one, leaves out the next one. */
  hurry(): void {
    this.#isHurried = true;
    this.#wake?.();
  }

  /** Doubles with each try. The random half keeps clients that were cut together from coming back together. */
  #chosenMs(): number {
    return Math.min(this.retryMs * 2 ** this.attempt, LONGEST_MS) * (0.5 + Math.random() / 2);
  }
}

async function waited(ms: number, signal: AbortSignal | undefined, hurried?: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waiting = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await unlessAborted(hurried ? Promise.race([waiting, hurried]) : waiting, signal).finally(() =>
    clearTimeout(timer),
  );
}
