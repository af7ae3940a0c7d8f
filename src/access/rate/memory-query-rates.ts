import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { QueryRates, type Rate } from './query-rates.js';

/** Counts in the memory of this process. */
export class MemoryQueryRates extends QueryRates {
  constructor(private readonly limiter: RateLimiterAbstract) {
    super();
  }

  count(owner: string): Promise<Rate> {
    return countIn(this.limiter, owner);
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
