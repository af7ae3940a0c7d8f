import { AgentQueryError } from 'nest-agent-query-client';
import { Retries } from 'nest-agent-query-client/streams';
import type { QueryError } from '../../query/index.js';
import { isFinal } from './failures.js';

/** The first wait. Runs are few compared with callers, and each has one that waits for it. */
const FIRST_MS = 100;

/**
 * Tries without an end, as long as they may help.
 *
 * @example
 * const retries = patientRetries();
 * await retries.wait(error, 0, context.signal);
 */
export function patientRetries(): Retries {
  const retries = new Retries(Infinity, Infinity);
  retries.retryMs = FIRST_MS;
  retries.isAnswered = true;
  return retries;
}

/** How a request is repeated. */
export interface Repetition {
  signal: AbortSignal;
  /** What a failure means for the run. */
  failureOf: (error: AgentQueryError) => QueryError;
  /** No try begins after this time of `performance.now()`. Default: never. */
  giveUpAt?: number;
  /** Default: new ones. */
  retries?: Retries;
}

/**
 * Repeats a request until it succeeds.
 *
 * @throws {QueryError} another try is of no use, or too late · the reason of the signal · what else `request` throws
 *
 * @example
 * const response = await repeated(() => ask(url), { signal: context.signal, failureOf: failures.notSubmitted });
 */
export async function repeated<T>(request: () => Promise<T>, repetition: Repetition): Promise<T> {
  const { signal, failureOf, giveUpAt = Infinity, retries = patientRetries() } = repetition;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AgentQueryError)) throw error;
      if (isFinal(error) || performance.now() + (error.retryAfterMs ?? 0) > giveUpAt) throw failureOf(error);
      await retries.wait(error, 0, signal).catch((final: unknown) => {
        throw final === error ? failureOf(error) : final;
      });
    }
  }
}
