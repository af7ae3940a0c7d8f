import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import {
  INTERRUPTED,
  QueryError,
  type StoreHost,
  type RunEnd,
  type RunRecord,
  type TurnAnswer,
  stackForLog,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Selectable } from 'kysely';
import type { Db, Tables } from '../schema/tables.js';
import { type Heartbeat, type Lease, orphanedRuns, unfinishedRuns } from './lease.js';
import type { LocalRuns } from './local-runs.js';
import type { Outbox } from '../rows/outbox.js';
import type { OwnerLimits } from '../steps/owner-limits.js';
import { expireInputs, park } from './asking.js';
import { readAnswer, voidRanges } from '../rows/read-log.js';
import type { OwnedAttempt } from '../rows/run-rows.js';
import { finish, handOver } from '../steps/transitions.js';

const BATCH = 100;
/** How many runs are recovered at the same time. */
const CONCURRENCY = 4;

/**
 * Recovers orphaned runs: those with another attempt wait for it, the others end as `interrupted`. `Lease` describes who owns
 * a run.
 *
 * It does this when the store is opened, and again and again: other processes may end, and after an outage there may be runs
 * that wait. On a shared database it does so when a heartbeat finds something to do. Heartbeats do not wait for it: a process
 * that recovers thousands of runs stays alive for the others.
 */
export class Recovery {
  static readonly #logger = new Logger('Recovery');
  readonly #stopping = new AbortController();
  #host: StoreHost | undefined;
  #watching: Promise<void> | undefined;
  #round: Promise<void> | undefined;
  #renewing: Promise<Heartbeat | undefined> | undefined;
  /** Runs that this process owns in the database but does not execute, as the last round has seen them. */
  #strays = new Set<string>();

  /** Orphaned runs that are so damaged that they cannot even be ended. They are not looked at again. */
  readonly #damaged = new Set<string>();

  /** @param isStarting whether the database is asked to start this run */
  constructor(
    private readonly database: Database,
    private readonly lease: Lease,
    private readonly localRuns: LocalRuns,
    private readonly limits: OwnerLimits,
    private readonly outbox: Outbox,
    private readonly isStarting: (runId: string) => boolean,
  ) {}

  /** Acquires the lease and recovers the runs that are orphaned now. */
  async start(host: StoreHost): Promise<void> {
    await this.lease.acquire();
    this.#host = host;
    this.limits.of = (module) => host.maxRunningPerOwner(module);
    this.outbox.endpointsOf = (module, event) => host.endpoints(module, event);
    await this.#recoverOrphaned();
    await this.limits.balanceAll();
    this.#watching = this.#watch();
  }

  /** Makes sure that the lease is valid, if this process has not renewed it in time: it may have been frozen. */
  async renewLate(): Promise<void> {
    // Before the start there is no lease that could be renewed.
    if (!this.#host || !this.database.driver.isShared || !this.lease.mayHaveEnded) return;
    await this.#renewOnce();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
    await this.#round;
    await this.lease.release();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await delay(this.lease.intervalMs, undefined, { ref: false, signal }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#lookAround().catch((error: unknown) => this.#report(error));
    }
  }

  /** Starts a round if there may be something to do. It does not wait for it: the next heartbeat must come in time. */
  async #lookAround(): Promise<void> {
    if (this.database.driver.isShared && !(await this.#beat())) return;
    this.#round ??= this.#recoverRound()
      .catch((error: unknown) => this.#report(error))
      .finally(() => (this.#round = undefined));
  }

  /** Sends a heartbeat. Returns whether there is something to do: an idle process only sends heartbeats. */
  async #beat(): Promise<boolean> {
    const heartbeat = await this.#renewOnce();
    if (!heartbeat) return false;
    const hasExpired = await this.lease.expire(heartbeat.others);
    const mayHaveStrays = heartbeat.owned > this.localRuns.unfinished.size;
    if (!mayHaveStrays) this.#strays.clear();
    return (
      hasExpired || mayHaveStrays || heartbeat.hasOrphaned || heartbeat.hasExpired || heartbeat.hasWaiting
    );
  }

  #renewOnce(): Promise<Heartbeat | undefined> {
    return (this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined)));
  }

  async #renew(): Promise<Heartbeat | undefined> {
    const heartbeat = await this.lease.renew();
    if (!heartbeat) return this.#loseRuns();
    for (const { id, cancelled, detached } of heartbeat.asked) {
      if (cancelled) this.#host!.wished(id, 'cancel');
      if (detached) this.#host!.wished(id, 'detach');
    }
    return heartbeat;
  }

  async #loseRuns(): Promise<undefined> {
    const runs = this.localRuns.loseAll();
    Recovery.#logger.warn(
      `This process was silent for more than ${this.lease.leaseMs} ms: other processes own its ${runs.length} runs now.`,
    );
    for (const { id } of runs) this.#host!.lost(id);
    await this.lease.acquire();
  }

  async #recoverRound(): Promise<void> {
    // A file has no heartbeat. The clock of the machine may have been set, or have stood still during a suspension.
    if (!this.database.driver.isShared) await this.database.synchronize();
    await this.#recoverOrphaned();
    for (const resolved of await expireInputs(this.database, this.limits.of, this.outbox))
      this.#host!.resolved(resolved);
    await this.#returnStrays();
    await this.limits.balanceAll();
    this.#host!.ready();
  }

  #report(error: unknown): void {
    this.lease.forgetOthers();
    // An outage was logged already.
    if (error instanceof QueryError) return;
    const message = 'The other processes that use the database cannot be observed';
    Recovery.#logger.error(message, stackForLog(error));
  }

  async #recoverOrphaned(): Promise<void> {
    for (let recovered = BATCH; recovered === BATCH && !this.#stopping.signal.aborted;) {
      const orphaned = await this.database.attempt((db) => selectOrphaned(db, [...this.#damaged]));
      recovered = orphaned.length;
      // Several processes recover at the same time. Each begins with other runs.
      const rest = orphaned.toSorted(() => Math.random() - 0.5);
      await Promise.all(
        Array.from({ length: CONCURRENCY }, async () => {
          for (let run = rest.pop(); run; run = rest.pop()) await this.#recoverOrSetAside(run);
        }),
      );
    }
  }

  /** One run whose rows are damaged must not keep the others from being recovered. */
  async #recoverOrSetAside(run: OrphanedRun): Promise<void> {
    try {
      await this.#recover(run);
    } catch (error) {
      if (error instanceof QueryError) throw error;
      const message = `Run ${run.id} cannot be recovered: what the database has of it is damaged. It ends as failed.`;
      Recovery.#logger.error(message, stackForLog(error));
      await this.#end(run, INTERRUPTED, undefined).catch((failure: unknown) => {
        if (failure instanceof QueryError) throw failure;
        this.#damaged.add(run.id);
        Recovery.#logger.error(`Run ${run.id} cannot be ended either.`, stackForLog(failure));
      });
    }
  }

  async #recover(run: OrphanedRun): Promise<void> {
    const { database, limits } = this;
    const isPaused = run.status !== 'running';
    const mayGoOn = isPaused ? run.survives === 1 : run.lost < this.#host!.restarts(run.module);
    if (run.cancelled || !mayGoOn) {
      const answer = await database.attempt((db) => readAnswer(db, run.id, voidRanges(run.void)));
      return this.#end(run, run.cancelled ? { status: 'cancelled' } : INTERRUPTED, answer);
    }
    const { driver } = database;
    const giveBack = (db: Db) =>
      isPaused ? park(db, driver, run) : handOver(db, driver, run, limits.of, database.now(), 'lost');
    const isHandedOver = await database.attempt(giveBack, 'transaction');
    if (isHandedOver) this.#tell(run, undefined);
  }

  async #end(run: OrphanedRun, end: RunEnd, answer: TurnAnswer | undefined): Promise<void> {
    const { id, attempt, process } = run;
    const endedAt = this.database.now();
    const ending = { id, process, attempt, log: undefined, end, endedAt, answer };
    const finishIt = (db: Db) => finish(db, this.database.driver, ending, this.limits.of, this.outbox);
    const ended = await this.database.attempt(finishIt, 'transaction');
    // If not, another process was faster.
    if (ended) this.#tell(run, ended.run);
  }

  #tell(run: OrphanedRun, ended: RunRecord | undefined): void {
    this.#host!.recovered(run.id, ended);
    this.#host!.ready();
  }

  /**
   * Gives back what this process owns without knowing it: the database has committed a start, but its answer was lost. A run
   * is given back when two rounds have seen it.
   */
  async #returnStrays(): Promise<void> {
    const { database, limits } = this;
    const { driver } = database;
    const { processId } = this.lease;
    const owned = await database.attempt((db) =>
      unfinishedRuns(db)
        .select(['id', 'attempt', 'process'])
        .where('process', '=', processId)
        .where('status', '=', 'running')
        .execute(),
    );
    const isKnown = (id: string) => this.localRuns.unfinished.has(id) || this.isStarting(id);
    const strays = owned.filter(({ id }) => !isKnown(id));
    for (const run of strays.filter(({ id }) => this.#strays.has(id))) {
      const giveBack = (db: Db) => handOver(db, driver, run, limits.of, database.now(), 'not called');
      await database.attempt(giveBack, 'transaction');
    }
    this.#strays = new Set(strays.map(({ id }) => id));
  }
}

type OrphanedRun = OwnedAttempt &
  Pick<Selectable<Tables['runs']>, 'status' | 'module' | 'cancelled' | 'void' | 'lost' | 'survives'>;

function selectOrphaned(db: Db, except: string[]): Promise<OrphanedRun[]> {
  return orphanedRuns(db)
    .select(['id', 'attempt', 'process', 'status', 'module', 'cancelled', 'void', 'lost', 'survives'])
    .$if(except.length > 0, (of) => of.where('id', 'not in', except))
    .orderBy('created_at')
    .limit(BATCH)
    .execute();
}
