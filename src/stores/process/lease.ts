import { randomUUID } from 'node:crypto';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';

/** How many heartbeats a process sends in the time of a lease. */
const HEARTBEATS = 4;

/** The least time that the answer to a heartbeat may take, in milliseconds: a busy machine may need it. */
const LEAST_LIMIT_MS = 250;

/**
 * A process's right to its runs, and its watch over the rights of the others.
 *
 * A process has a lease: a row in `processes`, under an id that is used for this lease only. With respect to processes, a run
 * is in one of five states:
 *
 * - **Waiting**: `runs.process` is empty. The run belongs to no process. It may be started when it is ready (`ready_at`): it is
 *   the first of its session.
 * - **Owned**: `runs.process` names a lease that is valid. Only that process calls the handler, appends to the log and ends
 *   the run.
 * - **Asking**: the status is `input_required`. Nobody executes the run, and any process may answer or end it. `runs.process`
 *   names the process whose handler still waits for the answers, or is empty. As soon as all is answered the run waits: if the
 *   process is named, for that process only.
 * - **Orphaned**: `runs.process` names a lease that has ended. No process may write to the run, except to recover it.
 * - **Ended**: `ended_at` is set. This state is final.
 *
 * These are the transitions. Each is one transaction that names the state, the process and the attempt that it expects, so
 * that only one of several processes succeeds:
 *
 * - → owned: a query is admitted, and starts at once in a slot of the process that admits it.
 * - → waiting: a query is admitted, and there is no slot or the session has an unfinished run.
 * - Waiting → owned: a process with a free slot starts the run (`startWaiting`).
 * - Waiting → ended: any process ends it, because it was cancelled.
 * - Owned → asking: the handler asks (`ask`).
 * - Asking → waiting: all is answered or has expired (`resolve`).
 * - Asking → ended: any process ends it, because it was cancelled or superseded, or a request has expired.
 * - Owned → ended: the process ends the run.
 * - Owned → waiting: the process hands the run over, when it shuts down and the run has another attempt (`handOver`).
 * - Owned → orphaned: the lease ends. A process ends its own lease in an orderly shutdown (`release`). Another process ends it
 *   when the heartbeat has not changed for the time of a lease (`expireOthers`). A file has one process at a time, so the
 *   process that opens it ends all older leases (`acquire`).
 * - Orphaned → waiting: the run has another attempt (`handOver`).
 * - Orphaned and asking → asking or waiting, without a process: its handler can be called again (`park`).
 * - Orphaned → ended: the run has none, and ends as `interrupted`.
 *
 * A process that loses its lease may not notice: it was frozen, or cut off. Therefore every commit to a log reads the row of
 * the lease in the same transaction (`writeCommit`), with a lock that delays the end of the lease. Either the commit comes
 * first, and then the recovery sees it; or the end comes first, and then the commit writes nothing. A process that finds its
 * lease ended gives up its runs, and acquires a lease with a new id: nothing of before can be written under it.
 *
 * The clocks of machines are not compared. A process measures with its own monotonic clock how long it has seen the same
 * heartbeat. It measures anew when it could not reach the database, because the others may not have reached it either.
 * All times that are stored are those of the database (`Database.now`).
 */
export class Lease {
  #processId = randomUUID();
  /** When the lease was renewed last, on the clock of this process. */
  #renewedAt = -Infinity;
  /** The heartbeats of the other processes, and since when each has been the same. */
  #seen = new Map<string, { heartbeat: number; since: number }>();

  /** @param leaseMs how long a heartbeat may stay the same before the lease ends, in milliseconds. Default 8,000 */
  constructor(
    private readonly database: Database,
    readonly leaseMs = 8_000,
  ) {}

  /** Identifies the lease of this process. */
  get processId(): string {
    return this.#processId;
  }

  /** Acquires a lease. On a database that is not shared, it ends the leases of all earlier processes. */
  async acquire(): Promise<void> {
    const id = randomUUID();
    await this.database.attempt(async (db) => {
      if (!this.database.driver.isShared) await db.deleteFrom('processes').execute();
      await db
        .insertInto('processes')
        .values({ id, heartbeat: 0 })
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute();
    }, 'transaction');
    this.#processId = id;
    this.#renewedAt = performance.now();
    await this.database.synchronize();
  }

  /**
   * Changes nothing, with a write: a database that can only be read takes no queries.
   *
   * @throws {QueryError} `unavailable`
   */
  async check(): Promise<void> {
    await this.database.attempt((db) => {
      const own = db.updateTable('processes').where('id', '=', this.#processId);
      return own.set((of) => ({ heartbeat: of.ref('heartbeat') })).execute();
    }, 'transaction');
  }

  /** Whether the others may have ended the lease by now, because the last heartbeat is so long ago. */
  get mayHaveEnded(): boolean {
    return performance.now() - this.#renewedAt > this.leaseMs / 2;
  }

  get intervalMs(): number {
    return this.leaseMs / HEARTBEATS;
  }

  /** Sends a heartbeat. The same statement looks at what else may be to do; undefined if the lease has ended. */
  async renew(): Promise<Heartbeat | undefined> {
    const now = performance.now();
    const id = this.#processId;
    const answer = { withinMs: Math.max(this.intervalMs, LEAST_LIMIT_MS) };
    const heartbeat = await this.database.attempt((db) => {
      const own = unfinishedRuns(db).where('runs.process', '=', id);
      return db
        .updateTable('processes')
        .set((of) => ({ heartbeat: of('heartbeat', '+', 1) }))
        .where('id', '=', id)
        .returning((of) => [
          jsonArrayFrom(
            own
              .select(['runs.id', 'runs.cancelled', 'runs.detached'])
              .where((run) => run.or([run('runs.cancelled', '>', 0), run('runs.detached', '=', 1)])),
          ).as('asked'),
          jsonArrayFrom(othersThan(db, id).select(['other.id', 'other.heartbeat'])).as('others'),
          own
            .where('runs.status', '=', 'running')
            .select((run) => run.fn.countAll<number>().as('count'))
            .$asScalar()
            .as('owned'),
          of.exists(orphanedRuns(db).select('runs.id')).as('hasOrphaned'),
          of.exists(expiredRequests(db, this.database.now()).select('requests.key')).as('hasExpired'),
          of.exists(db.selectFrom('runs').select('runs.id').where('status', '=', 'waiting')).as('hasWaiting'),
        ])
        .executeTakeFirst();
    }, answer);
    if (heartbeat) this.#renewedAt = now;
    return heartbeat as Heartbeat | undefined;
  }

  /** Ends the leases of processes that were silent for too long. Returns whether there was one. */
  async expire(others: Heartbeat['others']): Promise<boolean> {
    const now = performance.now();
    const seen = this.#seen;
    this.#seen = new Map(
      others.map(({ id, heartbeat }) => {
        const last = seen.get(id);
        return [id, last?.heartbeat === heartbeat ? last : { heartbeat, since: now }];
      }),
    );
    const silent = others.filter(({ id }) => now - this.#seen.get(id)!.since >= this.leaseMs);
    for (const { id, heartbeat } of silent) {
      await this.database.attempt((db) =>
        db.deleteFrom('processes').where('id', '=', id).where('heartbeat', '=', heartbeat).execute(),
      );
    }
    return silent.length > 0;
  }

  /** Whether this process may sweep now. Then no other one may, until `endSweep` or the end of the lease. */
  beginSweep(): Promise<boolean> {
    const { database } = this;
    const id = this.#processId;
    return database.attempt(async (db) => {
      await database.driver.lock(db, 'sweep');
      const { numUpdatedRows } = await db
        .updateTable('processes')
        .set({ sweeping: 1 })
        .where('id', '=', id)
        .where((of) => of.not(of.exists(othersThan(db, id).select('other.id').where('sweeping', '=', 1))))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    }, 'transaction');
  }

  async endSweep(): Promise<void> {
    await this.database.attempt((db) =>
      db.updateTable('processes').set({ sweeping: 0 }).where('id', '=', this.#processId).execute(),
    );
  }

  /** Measures the silence of the other processes anew. */
  forgetOthers(): void {
    this.#seen.clear();
  }

  /** Ends the lease, so that other processes recover the runs of this process at once. An outage is ignored: it expires. */
  async release(): Promise<void> {
    await this.database
      .attempt((db) => db.deleteFrom('processes').where('id', '=', this.#processId).execute())
      .catch(() => undefined);
  }
}

export interface Heartbeat {
  /** What other processes may have asked of the runs of this process: 1 if they have, otherwise 0. */
  asked: { id: string; cancelled: number; detached: number }[];
  others: { id: string; heartbeat: number }[];
  owned: number;
  /** Whether there are runs of processes that are gone. */
  hasOrphaned: boolean;
  /** Whether requests have expired, of any run. */
  hasExpired: boolean;
  /** Whether runs wait, of any process. */
  hasWaiting: boolean;
}

export function unfinishedRuns(db: Db) {
  return db.selectFrom('runs').where('runs.ended_at', 'is', null);
}

function othersThan(db: Db, id: string) {
  return db.selectFrom('processes as other').where('other.id', '!=', id);
}

/** Requests that are open, although their time is over. */
export function expiredRequests(db: Db, now: number) {
  return db
    .selectFrom('requests')
    .where('requests.resolved', 'is', null)
    .where('requests.expires_at', '<=', now);
}

export function orphanedRuns(db: Db) {
  return (
    unfinishedRuns(db)
      // A run that waits belongs to no process.
      .where('runs.process', '>', '')
      .where('runs.process', 'not in', db.selectFrom('processes as alive').select('alive.id'))
  );
}
