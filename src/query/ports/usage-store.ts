import type { Awaitable } from './file-store.js';
import type { ListPage, ListPosition } from './run-record.js';

/** What models have used: numbers of tokens, and what they cost. All are whole numbers from 0. */
export interface Tokens {
  inputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  cachedInputTokens: number;
  /** In millionths of the unit of the host. */
  price: number;
}

/** The use that one `usage` envelope tells. */
export interface Used extends Tokens {
  /** The name of the model; undefined if the envelope has none. */
  model: string | undefined;
}

/** What is added up in one sum. */
export type UsageGroup = 'session' | 'model' | 'day';

/** The time for which a budget counts: a day or a month, in UTC. */
export type BudgetPeriod = 'day' | 'month';

/** A page of sums. Days are numbers: how many have passed since 1970-01-01, in UTC. */
export interface UsagePage extends ListPage {
  by: UsageGroup;
  /** The first day. */
  from: number;
  /** The last day. */
  to: number;
  /** Only usage of this session. Default: of all, and of runs without one. */
  sessionId?: string | undefined;
}

/** A sum. */
export interface UsageRecord extends Tokens {
  /** The day, the model or the session; undefined for usage without a model or a session. */
  of: number | string | undefined;
  /** How many runs have their first usage here. */
  runs: number;
}

/**
 * Adds up what owners use, as a part of a `RunStore`: a capability. `RunStore.append` brings what is added.
 *
 * Usage counts as soon as its envelope is in the log, for the day on which it came there, and once. It stays when its run or
 * its session is dropped or erased, for at least `USAGE_DAYS`; then it belongs to no session any more.
 *
 * @example
 * class MyRunStore extends RunStore {
 *   override readonly usage: UsageStore = new MyUsageStore();
 *   // …
 * }
 */
export abstract class UsageStore {
  /**
   * Returns sums of an owner: those with the newest usage first; `next` is where they end, undefined if no more follow.
   *
   * @throws {QueryError} `unavailable`
   */
  abstract sums(
    owner: string,
    page: UsagePage,
  ): Awaitable<{ sums: UsageRecord[]; next: ListPosition | undefined }>;

  /**
   * Returns what an owner has used in the present day or month: input and output tokens, and their price.
   *
   * @throws {QueryError} `unavailable`
   */
  abstract spent(owner: string, per: BudgetPeriod): Awaitable<{ tokens: number; price: number }>;

  /** Erases what an owner has used, when the owner has no run any more. Returns of how many days and models it was. */
  abstract erase(owner: string): Awaitable<number>;
}
