import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';

/** The length of the window in which queries are counted, in seconds. */
export const WINDOW_SECONDS = 60;

/** What an owner may still do in its window. */
export interface Rate {
  isExceeded: boolean;
  /** How many more queries the owner may begin. */
  remaining: number;
  /** When the window ends, in seconds from now, from 1. */
  resetSeconds: number;
}

/** Counts the queries of owners, in the memory of this process. */
export class QueryRates {
  /** @param memory the counters of this process */
  constructor(private readonly memory: RateLimiterAbstract) {}

  /** Counts one query. */
  count(owner: string): Promise<Rate> {
    return countIn(this.memory, owner);
  }

  async close(): Promise<void> {}
}

/**
 * Counts one query in a limiter.
 *
 * @param key names the owner in the limiter
 * @throws {Error} the limiter fails
 */
export async function countIn(limiter: RateLimiterAbstract, key: string): Promise<Rate> {
  try {
    return rateOf(await limiter.consume(key), false);
  } catch (result) {
    // A limit that is exceeded is rejected too, with a result that is no error.
    const { msBeforeNext } = result as Partial<RateLimiterRes>;
    if (msBeforeNext === undefined) throw result;
    return rateOf(result as RateLimiterRes, true);
  }
}

function rateOf({ remainingPoints, msBeforeNext }: RateLimiterRes, isExceeded: boolean): Rate {
  return {
    isExceeded,
    remaining: remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
  };
}
