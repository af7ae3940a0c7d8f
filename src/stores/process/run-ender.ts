import { Logger } from '@nestjs/common';
import {
  type AttemptRef,
  type Ended,
  KeptAnswer,
  QueryError,
  type RunEnd,
  type TurnAnswer,
  stackForLog,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';
import type { LocalRun } from './local-run.js';
import type { LocalRuns } from './local-runs.js';
import type { LogWriter } from './log-writer.js';
import type { Outbox } from '../rows/outbox.js';
import type { OwnerLimits } from '../steps/owner-limits.js';
import { ownerRefOf } from '../rows/queues.js';
import { findRun, isRunId } from '../rows/run-rows.js';
import { type Ending, finish, handOver } from '../steps/transitions.js';
import type { UsageSums } from './usage-sums.js';

const END_NOT_STORED: RunEnd = {
  status: 'failed',
  error: {
    code: 'internal',
    message:
      'The service could not store the end of the run, and has logged the cause. Send the query again.',
  },
};

/** Ends runs: those of this process, and those that wait. Gives runs of this process back to the queue. */
export class RunEnder {
  static readonly #logger = new Logger('RunEnder');

  constructor(
    private readonly database: Database,
    private readonly localRuns: LocalRuns,
    private readonly writer: LogWriter,
    private readonly limits: OwnerLimits,
    private readonly outbox: Outbox,
    private readonly sums: UsageSums,
  ) {}

  async end(name: AttemptRef, end: RunEnd, answer: TurnAnswer): Promise<Ended | undefined> {
    const run = this.localRuns.findUnfinished(name);
    if (!run) return this.#finishWaiting(name, end, answer);
    if (run.asking) {
      // The handler may have missed its deadline meanwhile, in an outage for example.
      await run.asking.catch(() => undefined);
      return this.end(name, end, answer);
    }
    if (run.isFinishing || run.attempt !== name.attempt) return undefined;
    run.isFinishing = true;
    const endedAt = this.database.now();
    let finished = await this.#finishWithLog(run, end, endedAt);
    if (!finished) {
      await this.writer.settled(run);
      const { id, process, attempt, logExtent: log } = run;
      if (!run.isLost) finished = await this.#finish({ id, process, attempt, log, end, endedAt, answer });
    }
    if (!finished) {
      // Another process has the run: its state is in the database only.
      this.localRuns.drop(run);
      return undefined;
    }
    this.localRuns.end(run, finished.run);
    if (run.usage.length > 0) this.sums.count();
    return finished;
  }

  async handOver(name: AttemptRef): Promise<boolean> {
    const run = this.localRuns.findUnfinished(name);
    if (run?.attempt !== name.attempt || run.isFinishing) return false;
    run.isFinishing = true;
    await this.writer.settled(run);
    const { database, limits } = this;
    const giveBack = (db: Db) => handOver(db, database.driver, run, limits.of, database.now(), 'stops');
    const isHandedOver = await database.persist(giveBack, 'transaction');
    this.localRuns.drop(run);
    return isHandedOver;
  }

  /** Ends a run that has no session in the commit of its last envelopes. Undefined if that is not possible. */
  async #finishWithLog(run: LocalRun, end: RunEnd, endedAt: number): Promise<Ended | undefined> {
    const { owner, sessionId } = run.record;
    if (sessionId !== undefined || run.isUnwritable) return undefined;
    let mayPromote: boolean | undefined;
    try {
      mayPromote = await this.writer.end(run, end, endedAt);
    } catch (error) {
      // `#finish` meets any other error too, and reports it.
      if (error instanceof QueryError && !run.isLost) throw error;
    }
    if (mayPromote === undefined) return undefined;
    const isLimited = this.limits.of(run.module) !== Infinity;
    return {
      run: { ...run.record, status: end.status, end, endedAt, lastSeq: run.lastSeq + 1 },
      next: mayPromote && isLimited ? await this.limits.ended(ownerRefOf(owner, run.module)) : undefined,
    };
  }

  async #finishWaiting(name: AttemptRef, end: RunEnd, answer: TurnAnswer): Promise<Ended | undefined> {
    const { owner, id, attempt } = name;
    if (!isRunId(id)) return undefined;
    const run = await this.database.attempt((db) => findRun(db, owner, id));
    if (run?.status !== 'waiting' && run?.status !== 'input_required') return undefined;
    const endedAt = this.database.now();
    return this.#finish({ id, process: undefined, attempt, log: undefined, end, endedAt, answer });
  }

  /** A run whose end cannot be stored would block its session: then its failure is stored, however often that takes. */
  async #finish(ending: Ending): Promise<Ended | undefined> {
    const { driver } = this.database;
    const finishIt = (db: Db, how: Ending) => finish(db, driver, how, this.limits.of, this.outbox);
    try {
      return await this.database.persist((db) => finishIt(db, ending), 'transaction');
    } catch (error) {
      if (error instanceof QueryError) throw error;
      RunEnder.#logger.error(
        `The end of run ${ending.id} cannot be stored. It is stored as failed.`,
        stackForLog(error),
      );
      const failed = { ...ending, end: END_NOT_STORED, answer: new KeptAnswer().value };
      return this.database.persist(
        (db) => finishIt(db, failed),
        'transaction',
        () => true,
      );
    }
  }
}
