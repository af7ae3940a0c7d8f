import type { Database } from '../drivers/database.js';
import { FinalError } from '../drivers/final-errors.js';
import type { Db } from '../schema/tables.js';

/**
 * A process's right to its runs, and its watch over the rights of the others.
 *
 * Every unfinished run names its process in `runs.process`. A process has a row in `processes` while its lease is valid.
 * With respect to its process, a run is in one of three states:
 *
 * - **Owned**: its process has a row. Only that process starts the run, appends to its log and finishes it.
 * - **Orphaned**: its process has no row. No process may write to the run, except to recover it.
 * - **Ended**: `ended_at` is set. This state is final.
 *
 * These are the transitions:
 *
 * - → owned: a process admits the run.
 * - Owned → orphaned: the row of its process is deleted. A process deletes its own row in an orderly shutdown (`release`).
 *   Another process deletes it when the heartbeat in it has not changed for the time of a lease (`expireOthers`). A file
 *   has one process at a time, so the process that opens it deletes all older rows (`acquire`).
 * - Orphaned → owned: the run waits, and a process adopts it. The update requires that the run is still orphaned, so that
 *   only one process succeeds.
 * - Orphaned → ended: the run was executing, and a process finishes it as `interrupted`. Only the first end is recorded.
 * - Owned → ended: the owning process finishes the run.
 *
 * A process that loses its lease may not notice: it was frozen, or cut off. Therefore every commit to the log reads the
 * row of its own process in the same transaction (`fence`), with a lock that delays the deletion of the row. Either the
 * commit comes first, and then the recovery sees it; or the deletion comes first, and then the commit fails. A process
 * that finds its own row missing makes its runs unwritable, and only then acquires a new lease.
 *
 * The clocks of machines are not compared. A process measures with its own monotonic clock how long it has seen the same
 * heartbeat. It measures anew when it could not reach the database, because the others may not have reached it either.
 */
export class Lease {
  /** The heartbeats of the other processes, and since when each has been the same. */
  readonly #seen = new Map<string, { heartbeat: number; since: number }>();

  /**
   * @param database that the processes share
   * @param processId of this process
   * @param leaseMs how long a heartbeat may stay the same before the lease ends, in milliseconds
   */
  constructor(
    private readonly database: Database,
    private readonly processId: string,
    readonly leaseMs: number,
  ) {}

  /** Acquires the lease. On a database that is not shared, it ends the leases of all earlier processes. */
  async acquire(): Promise<void> {
    await this.database.attemptTransaction(async (db) => {
      if (!this.database.driver.isShared) await db.deleteFrom('processes').execute();
      await db
        .insertInto('processes')
        .values({ id: this.processId, heartbeat: 0 })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
    });
  }

  /** Sends a heartbeat. False if the lease has ended. */
  async renew(): Promise<boolean> {
    const { numUpdatedRows } = await this.database.attempt((db) =>
      db
        .updateTable('processes')
        .set((of) => ({ heartbeat: of('heartbeat', '+', 1) }))
        .where('id', '=', this.processId)
        .executeTakeFirst(),
    );
    return numUpdatedRows > 0n;
  }

  /** @throws Error if the lease has ended; otherwise it cannot end before the transaction does */
  async fence(db: Db): Promise<void> {
    const row = await db
      .selectFrom('processes')
      .select('id')
      .where('id', '=', this.processId)
      .forKeyShare()
      .executeTakeFirst();
    if (row) return;
    throw new FinalError(
      'The lease of this process has ended: other processes saw no heartbeat and own its runs now.',
    );
  }

  /** Ends the leases of processes that were silent for too long. */
  async expireOthers(): Promise<void> {
    const others = await this.database.attempt((db) =>
      db.selectFrom('processes').selectAll().where('id', '!=', this.processId).execute(),
    );
    const now = performance.now();
    for (const { id, heartbeat } of others) {
      const seen = this.#seen.get(id);
      if (seen?.heartbeat !== heartbeat) {
        this.#seen.set(id, { heartbeat, since: now });
      } else if (now - seen.since >= this.leaseMs) {
        this.#seen.delete(id);
        await this.database.attempt((db) =>
          db.deleteFrom('processes').where('id', '=', id).where('heartbeat', '=', heartbeat).execute(),
        );
      }
    }
  }

  /** Measures the silence of the other processes anew. */
  forgetOthers(): void {
    this.#seen.clear();
  }

  /** Ends the lease, so that other processes can adopt waiting runs at once. An outage is ignored: the lease expires. */
  async release(): Promise<void> {
    await this.database
      .attempt((db) => db.deleteFrom('processes').where('id', '=', this.processId).execute())
      .catch(() => undefined);
  }
}
