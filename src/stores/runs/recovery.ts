import { Logger } from '@nestjs/common';
import { INTERRUPTED, QueryError, type RunRecord, type StoredRun } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { type Finished, finish, withdraw } from './finish.js';
import { readText } from './read.js';
import { recordOf, selectRuns } from './run-rows.js';
import type { Db } from '../schema/tables.js';

/** Lost runs that are looked at together. */
const BATCH = 100;
/** In the time after which a silent process counts as gone, each gives so many signs of life. */
const BEATS = 4;

/** What the store does with a run that this process takes up. */
export interface Adopter {
  /** A waiting run of a process that is gone is now ours. */
  adopt(run: RunRecord): Promise<void>;
  /** Of our runs that wait behind others, those whose turn may have come. */
  inLine(): string[];
  /** A run's turn has come; returns false if it was told so before, or is none of ours. */
  callUp(runId: string): boolean;
  /** Others have taken this process for lost, and taken up its runs. */
  lose(): void;
}

/**
 * Watches over the processes that share the database, this one among them, and takes up what those have left that are
 * gone: what they executed has ended as `interrupted`, what was waiting is executed here.
 *
 * A process is gone when its row is, or when its beat has not changed for `leaseMs` while the database was there for us
 * to see it. Clocks are not compared. Whoever takes a process for lost deletes its row first; each commit of that process
 * looks at the row (`fence`), so that it cannot write what it should not.
 */
export class Recovery {
  readonly #seen = new Map<string, { beat: number; since: number }>();
  #timer: NodeJS.Timeout | undefined;
  #take: (stored: StoredRun) => void = () => undefined;
  #beating: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    private readonly database: Database,
    private readonly process: string,
    private readonly leaseMs: number,
    private readonly adopter: Adopter,
  ) {}

  /** Registers this process and takes up what can be taken up at once; goes on doing so where the database is shared. */
  async start(take: (stored: StoredRun) => void): Promise<void> {
    this.#take = take;
    await this.database.attemptTransaction(async (db) => {
      // Whoever had the file before has lost it.
      if (!this.database.backend.isShared) await db.deleteFrom('processes').execute();
      await this.#register(db);
    });
    await this.#takeUp();
    if (this.database.backend.isShared) this.#schedule();
  }

  /** @throws Error if this process counts as gone */
  async fence(db: Db): Promise<void> {
    const row = await db
      .selectFrom('processes')
      .select('id')
      .where('id', '=', this.process)
      .forKeyShare()
      .executeTakeFirst();
    if (!row) throw new Error('Other processes have taken this one for lost, and have ended its runs.');
  }

  /** Signs off: others take up at once what waits here. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#beating;
    await this.database
      .attempt((db) => db.deleteFrom('processes').where('id', '=', this.process).execute())
      .catch(() => undefined);
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat()
        .catch((error: unknown) => this.#missed(error))
        .finally(() => this.#schedule());
    }, this.leaseMs / BEATS);
    this.#timer.unref();
  }

  /** Takes back, as soon as that can be done, an admission of which it is not known whether it was committed. */
  withdraw(runId: string): void {
    this.database
      .persistTransaction((db) => withdraw(db, this.database.backend, this.process, runId))
      .then((next) => next && this.#callUp(next.id))
      .catch((error: unknown) => this.#missed(error));
  }

  async #register(db: Db): Promise<void> {
    await db
      .insertInto('processes')
      .values({ id: this.process, beat: 0 })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
  }

  async #beat(): Promise<void> {
    const { numUpdatedRows } = await this.database.attempt((db) =>
      db
        .updateTable('processes')
        .set((of) => ({ beat: of('beat', '+', 1) }))
        .where('id', '=', this.process)
        .executeTakeFirst(),
    );
    if (numUpdatedRows === 0n) {
      this.adopter.lose();
      await this.database.attempt((db) => this.#register(db));
    }
    await this.#signOffTheSilent();
    await this.#takeUp();
    await this.#callUpOurs();
  }

  /** While the database is away, nobody can be seen to live. */
  #missed(error: unknown): void {
    this.#seen.clear();
    if (error instanceof QueryError) return;
    new Logger('Recovery').error(
      'Processes that share the database cannot be watched',
      (error as Error).stack,
    );
  }

  async #signOffTheSilent(): Promise<void> {
    const others = await this.database.attempt((db) =>
      db.selectFrom('processes').selectAll().where('id', '!=', this.process).execute(),
    );
    const now = performance.now();
    for (const { id, beat } of others) {
      const seen = this.#seen.get(id);
      if (seen?.beat !== beat) {
        this.#seen.set(id, { beat, since: now });
      } else if (now - seen.since >= this.leaseMs) {
        this.#seen.delete(id);
        await this.database.attempt((db) =>
          db.deleteFrom('processes').where('id', '=', id).where('beat', '=', beat).execute(),
        );
      }
    }
  }

  /** Ends or adopts the runs of processes that are not there. */
  async #takeUp(): Promise<void> {
    for (;;) {
      const lost = await this.database.attempt((db) =>
        selectRuns(db)
          .where('ended_at', 'is', null)
          .where('process', 'not in', db.selectFrom('processes').select('processes.id'))
          .orderBy('created_at')
          .orderBy('place')
          .limit(BATCH)
          .execute(),
      );
      if (lost.length === 0) return;
      const records = lost.map(recordOf);
      // First those that block their sessions.
      for (const { id, status } of records) if (status === 'running') await this.#interrupt(id);
      for (const record of records) if (record.status === 'waiting') await this.#adopt(record);
    }
  }

  async #interrupt(runId: string): Promise<void> {
    const ending = {
      runId,
      owner: undefined,
      process: undefined,
      log: undefined,
      end: INTERRUPTED,
      endedAt: Date.now(),
      text: await this.database.attempt((db) => readText(db, runId)),
    };
    const finished: Finished | undefined = await this.database.attemptTransaction((db) =>
      finish(db, this.database.backend, ending),
    );
    if (finished?.next) await this.#callUp(finished.next.id);
  }

  async #adopt(record: RunRecord): Promise<void> {
    const { numUpdatedRows } = await this.database.attempt((db) =>
      db
        .updateTable('runs')
        .set({ process: this.process })
        .where('id', '=', record.id)
        .where('status', '=', 'waiting')
        .where('process', 'not in', db.selectFrom('processes').select('processes.id'))
        .executeTakeFirst(),
    );
    if (numUpdatedRows === 0n) return;
    await this.adopter.adopt(record);
    const isFirst = await this.#isFirst(record.id);
    if (isFirst) this.adopter.callUp(record.id);
    this.#take(await this.#stored(record.id, isFirst));
  }

  /** Runs of ours may wait behind a run that another process has ended. */
  async #callUpOurs(): Promise<void> {
    for (const runId of this.adopter.inLine()) if (await this.#isFirst(runId)) await this.#callUp(runId);
  }

  async #callUp(runId: string): Promise<void> {
    const stored = await this.#stored(runId, true);
    if (this.adopter.callUp(runId)) this.#take(stored);
  }

  async #isFirst(runId: string): Promise<boolean> {
    const row = await this.database.attempt((db) =>
      db
        .selectFrom('runs')
        .select('runs.id')
        .where('runs.id', '=', runId)
        .where((of) =>
          of.not(
            of.exists(
              of
                .selectFrom('runs as others')
                .select('others.id')
                .whereRef('others.session_key', '=', 'runs.session_key')
                .whereRef('others.place', '<', 'runs.place')
                .where('others.ended_at', 'is', null),
            ),
          ),
        )
        .executeTakeFirst(),
    );
    return row !== undefined;
  }

  async #stored(runId: string, isFirst: boolean): Promise<StoredRun> {
    const row = await this.database.attempt((db) =>
      selectRuns(db).select('query').where('id', '=', runId).executeTakeFirstOrThrow(),
    );
    const { parts, kwargs } = JSON.parse(row.query!) as Pick<StoredRun, 'parts' | 'kwargs'>;
    return { run: recordOf(row), parts, kwargs, isFirst };
  }
}
