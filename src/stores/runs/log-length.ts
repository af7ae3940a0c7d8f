import type { Database } from '../drivers/database.js';
import { totalOf } from '../drivers/totals.js';

export const ENDED = { table: 'runs', time: 'ended_at', length: 'log_length' } as const;

/** The share of the time that adding up may take, at most. */
const SHARE = 1 / 20;

/** The length of the logs of all runs that have ended. With many of them it is measured less often. */
export class EndedLength {
  #measuring: Promise<number> | undefined;
  #length = 0;
  #validUntil = -Infinity;

  constructor(private readonly database: Database) {}

  /**
   * Returns the length in characters of JSON. If it takes `t` to add it up, the answer is at most `20 t` old.
   *
   * @throws {QueryError} `unavailable`
   */
  async measure(): Promise<number> {
    if (performance.now() < this.#validUntil) return this.#length;
    this.#measuring ??= this.#addUp().finally(() => (this.#measuring = undefined));
    return this.#measuring;
  }

  async #addUp(): Promise<number> {
    const since = performance.now();
    this.#length = await totalOf(this.database, ENDED);
    const now = performance.now();
    this.#validUntil = now + (now - since) / SHARE;
    return this.#length;
  }
}
