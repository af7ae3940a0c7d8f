import { QueryError, type RecoveryEvents, type RunRecord } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';
import { Batches } from './batches.js';
import { insertWithinLimit, type LimitedRun } from './limited-runs.js';
import { activeRuns, balance, deferredRuns, lockOwners, type OwnerRef, WAITING } from './owner-queue.js';

/** The most owners that one transaction locks. Postgres keeps locks in a table of a fixed size. */
const LOCKED_AT_ONCE = 64;

/** The limits of runs that execute per owner: tells them, admits within them, and makes deferred runs ready. */
export class OwnerLimits {
  #limitOf: RecoveryEvents['maxRunningPerOwner'] = () => Infinity;
  readonly #admissions: Batches<LimitedRun, boolean>;
  readonly #ends: Batches<OwnerRef, boolean>;
  /**
   * The keys of the owners of whom runs may wait: those of the last balance of all owners, and those since. Only for a file:
   * elsewhere other processes admit runs too.
   */
  #waiting = { before: new Set<string>(), since: new Set<string>() };

  constructor(private readonly database: Database) {
    this.#admissions = new Batches(
      (runs) => this.#start(runs),
      ({ row }) => row.parts!.length + row.kwargs!.length,
      LOCKED_AT_ONCE,
    );
    this.#ends = new Batches(
      (owners) => this.#haveDeferred(owners),
      () => 0,
      LOCKED_AT_ONCE,
    );
  }

  use(limitOf: RecoveryEvents['maxRunningPerOwner']): void {
    this.#limitOf = limitOf;
  }

  /** How many runs of an owner a module executes; undefined if this process does not know the module. */
  readonly of = (module: string): number | undefined => this.#limitOf(module);

  /** Inserts a run that starts with its admission, unless its owner is at the limit. Returns whether it was inserted. */
  start(run: LimitedRun): Promise<boolean> {
    return this.#admissions.add(run);
  }

  /** A run of an owner is about to be admitted, and may wait. */
  mayWait(owner: OwnerRef): void {
    if (!this.database.driver.isShared) this.#waiting.since.add(owner.key);
  }

  /**
   * A run of an owner has ended, in a transaction that did not lock the owner. Makes a deferred run ready in its place.
   *
   * @returns the run that became ready. In an outage there is none: the next recovery finds it
   */
  async ended(owner: OwnerRef): Promise<RunRecord | undefined> {
    const limit = this.of(owner.module);
    if (limit === undefined || limit === Infinity) return undefined;
    if (!this.#mayHaveWaiting(owner)) return undefined;
    try {
      if (!(await this.#ends.add(owner))) return undefined;
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
    await this.#findWaiting();
    for (const { module, key, active, hasDeferred } of await this.database.attempt(selectOwners)) {
      const limit = this.of(module);
      if (limit === undefined) continue;
      const isBalanced = active === limit || (active < limit && !hasDeferred);
      if (!isBalanced) await this.#balance({ module, key }, limit);
    }
  }

  #mayHaveWaiting({ key }: OwnerRef): boolean {
    const { before, since } = this.#waiting;
    return this.database.driver.isShared || before.has(key) || since.has(key);
  }

  /** Forgets the owners of whom no run waits any more. Those of admissions that may be under way are kept. */
  async #findWaiting(): Promise<void> {
    if (this.database.driver.isShared) return;
    const { before, since } = this.#waiting;
    this.#waiting = { before: new Set([...before, ...since]), since: new Set() };
    const rows = await this.database.attempt((db) =>
      db
        .selectFrom('runs')
        .select('owner_key')
        .where('status', '=', WAITING)
        .where('owner_key', 'is not', null)
        .distinct()
        .execute(),
    );
    this.#waiting.before = new Set([...since, ...rows.map(({ owner_key }) => owner_key!)]);
  }

  #balance(owner: OwnerRef, limit: number): Promise<RunRecord[]> {
    const { database } = this;
    return database.attemptTransaction((db) => balance(db, database.driver, owner, limit, database.now()));
  }

  async #start(runs: LimitedRun[]): Promise<boolean[]> {
    const { database } = this;
    const { driver } = database;
    const owners = [...new Set(runs.map(({ row }) => row.owner_key!))];
    const insert = (db: Db) => insertWithinLimit(db, driver, runs);
    const started = driver.isShared
      ? await database.attemptTransaction(async (db) => {
          await lockOwners(
            db,
            driver,
            owners.map((key) => ({ module: '', key })),
          );
          return insert(db);
        })
      : await database.attemptAtOnce(insert);
    return runs.map(({ row }) => started.has(row.id!));
  }

  /** For each owner, whether it has deferred runs, also those whose admission has counted a run that has ended since. */
  async #haveDeferred(owners: OwnerRef[]): Promise<boolean[]> {
    const { driver } = this.database;
    const keys = [...new Set(owners.map(({ key }) => key))];
    const modules = [...new Set(owners.map(({ module }) => module))];
    const rows = await this.database.attempt(async (db) => {
      // Outside of a transaction: this waits until such admissions are committed.
      await lockOwners(
        db,
        driver,
        keys.map((key) => ({ module: '', key })),
      );
      return deferredRuns(db)
        .where('deferred.module', 'in', modules)
        .where('deferred.owner_key', 'in', keys)
        .select('deferred.owner_key')
        .distinct()
        .execute();
    });
    const found = new Set(rows.map(({ owner_key }) => owner_key));
    return owners.map(({ key }) => found.has(key));
  }
}

interface OwnerState extends OwnerRef {
  active: number;
  hasDeferred: boolean;
}

/** The owners that may not be balanced: those with deferred runs, and those with active runs of which some are ready. */
async function selectOwners(db: Db): Promise<OwnerState[]> {
  const deferred = await deferredRuns(db)
    .select(['deferred.module', 'deferred.owner_key as key'])
    .where('deferred.owner_key', 'is not', null)
    .groupBy(['deferred.module', 'deferred.owner_key'])
    .select((of) =>
      of
        .selectFrom('runs as active')
        .whereRef('active.owner_key', '=', 'deferred.owner_key')
        .where('active.ready_at', 'is not', null)
        .where('active.ended_at', 'is', null)
        .select((active) => active.fn.countAll<string | number>().as('count'))
        .as('active'),
    )
    .execute();
  const ready = await activeRuns(db)
    .select(['active.module', 'active.owner_key as key'])
    .where('active.owner_key', 'is not', null)
    .groupBy(['active.module', 'active.owner_key'])
    .select((of) => [
      of.fn.countAll<string | number>().as('active'),
      of.fn.max<string>('active.status').as('status'),
    ])
    .execute();
  return [
    ...deferred.map((row) => ({ ...row, hasDeferred: true })),
    // The status `waiting` is the greatest of those that active runs have.
    ...ready.filter(({ status }) => status === 'waiting').map((row) => ({ ...row, hasDeferred: false })),
  ].map(({ module, key, active, hasDeferred }) => ({
    module,
    key: key!,
    active: Number(active),
    hasDeferred,
  }));
}
