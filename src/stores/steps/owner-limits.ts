import { QueryError, type RunRecord } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { Batches } from '../rows/batches.js';
import { balance, lockOwners, type OwnerRef, selectLoads, WAITING } from '../rows/queues.js';
import type { LimitOf } from './transitions.js';

/** The most owners that one transaction locks. Postgres keeps locks in a table of a fixed size. */
export const LOCKED_AT_ONCE = 64;

/** The limits of runs that execute per owner: tells them, and makes deferred runs ready. */
export class OwnerLimits {
  /** How many runs of an owner a module executes; see `StoreHost.maxRunningPerOwner`. `Recovery` sets it. */
  of: LimitOf = () => Infinity;
  /** Asks whether owners have deferred runs. */
  readonly #ends = new Batches(
    (keys: string[]) => this.#haveDeferred(keys),
    () => 0,
    LOCKED_AT_ONCE,
  );

  constructor(private readonly database: Database) {}

  /**
   * A run of an owner has ended, in a transaction that did not lock the owner. Makes a deferred run ready in its place.
   *
   * @returns the run that became ready. In an outage there is none: the next recovery finds it
   */
  async ended(owner: OwnerRef): Promise<RunRecord | undefined> {
    const limit = this.of(owner.module);
    if (limit === undefined) return undefined;
    try {
      // In a file, the commit of the end has seen all deferred runs.
      if (this.database.driver.isShared && !(await this.#ends.add(owner.key))) return undefined;
      return (await this.#balance(owner, limit))[0];
    } catch (error) {
      if (error instanceof QueryError) return undefined;
      throw error;
    }
  }

  /**
   * Balances the runs of all owners: a process may have ended before it made a deferred run ready, and the limit may have been
   * another one before.
   */
  async balanceAll(): Promise<void> {
    for (const { module, key, active, deferred } of await this.database.attempt(selectLoads)) {
      const limit = this.of(module);
      if (limit === undefined) continue;
      const isBalanced = active === limit || (active! < limit && deferred === null);
      if (!isBalanced) await this.#balance({ module, key }, limit);
    }
  }

  #balance(owner: OwnerRef, limit: number): Promise<RunRecord[]> {
    const { driver } = this.database;
    return this.database.attempt(
      (db) => balance(db, driver, owner, limit, this.database.now()),
      'transaction',
    );
  }

  /** For each owner, whether it has deferred runs, also those whose admission has counted a run that has ended since. */
  async #haveDeferred(keys: string[]): Promise<boolean[]> {
    const rows = await this.database.attempt(async (db) => {
      // Outside of a transaction: this waits until such admissions are committed.
      await lockOwners(db, this.database.driver, ...keys);
      return db
        .selectFrom('runs')
        .select('owner_key')
        .distinct()
        .where('status', '=', WAITING)
        .where('owner_key', 'in', keys)
        .where('deferred_at', '>', 0)
        .execute();
    });
    const found = new Set(rows.map(({ owner_key }) => owner_key));
    return keys.map((key) => found.has(key));
  }
}
