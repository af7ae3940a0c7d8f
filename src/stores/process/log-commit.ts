import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { type PlaceOf, Statement, tableOf } from '../drivers/row-statement.js';
import type { Db } from '../schema/tables.js';
import { insertDeliveries, type NewDelivery } from '../rows/outbox.js';
import type { Move } from './journal.js';
import { insertion, type NewRun, RUN_COLUMNS, RUN_TYPES } from '../rows/new-runs.js';
import {
  ENDING_TYPES,
  insertingDone,
  type RunEnding,
  updateRuns,
  updateUsage,
  updating,
  updatingUsage,
  USAGE_TYPES,
  type UsageOfRun,
} from '../rows/run-changes.js';
import type { OwnedAttempt } from '../rows/run-rows.js';
import {
  insertSegments,
  type Segment,
  SEGMENT_COLUMNS,
  SEGMENT_TYPES,
  statementsOf,
} from '../rows/segments.js';

export interface LogCommit {
  /** New runs, before all that follows. A commit that has some does not wait for the end of an outage. */
  runs: NewRun[];
  segments: Segment[];
  /** What it does with the journal of a file. */
  move: Move | undefined;
  /** The checkpoints of runs that do not end. */
  checkpoints: Checkpoint[];
  /** What runs that do not end have used, with these segments. */
  usage: UsageOfRun[];
  /** Runs without a session that end, behind these segments. A new run ends in its row. */
  endings: RunEnding[];
  /** The webhooks of these ends. */
  deliveries: NewDelivery[];
}

type CommitRows = Pick<LogCommit, 'runs' | 'segments' | 'usage' | 'endings'>;
type LeasedRows = CommitRows & { leases: string[] };

export interface Written {
  /** The leases that have ended. If there is one, nothing was written. */
  expired: string[];
  /**
   * The runs that were ended: whether deferred runs of the owner may take the place. A run is not ended if it was not in the
   * state that its ending requires, also because this is a repetition.
   */
  ended: Map<string, boolean>;
}

/** The state of a handler, as JSON, and the number of the newest envelope at that time. */
export interface Checkpoint extends OwnedAttempt {
  state: string;
  seq: number;
}

/**
 * Writes a commit, if all these leases are valid, however long an outage lasts.
 *
 * @throws {QueryError} `unavailable`: the commit has new runs, and the database cannot be used at present
 */
export function writeCommit(database: Database, leases: string[], commit: LogCommit): Promise<Written> {
  const { driver } = database;
  if (!driver.isShared) return writeToFile(database, commit);
  const { runs, segments, checkpoints, usage, endings, deliveries } = commit;
  const hasNew = runs.length > 0;
  if (checkpoints.length + deliveries.length === 0 && statementsOf(segments).length <= 1) {
    const write = (db: Db) => writeUnder(db, driver, leases, commit);
    return hasNew ? database.attempt(write, 'round trip') : database.persist(write, 'round trip');
  }
  const write = async (db: Db) => {
    // Locks the leases until the end of the transaction.
    const written = await writeUnder(db, driver, leases, { runs, segments: [], usage, endings });
    if (written.expired.length > 0) return written;
    await insertSegments(db, driver, segments);
    for (const checkpoint of checkpoints) await storeCheckpoint(db, checkpoint);
    await insertDeliveries(db, driver, deliveries);
    return written;
  };
  return hasNew ? database.attempt(write, 'transaction') : database.persist(write, 'transaction');
}

/** Inserts a new run with the beginning of its log, as a part of a transaction: on Postgres in one round trip. */
export async function insertRun(db: Db, driver: Driver, run: NewRun, segments: Segment[]): Promise<void> {
  const runs = [run];
  if (driver.isShared && segments.length > 0)
    await writeUnder(db, driver, [], { runs, segments, usage: [], endings: [] });
  else await Promise.all([insertion.execute(db, driver, runs), insertSegments(db, driver, segments)]);
}

/**
 * Writes in one statement, if all these leases are valid. They cannot end before the statement has ended. For Postgres:
 * SQLite has no data-modifying `with`. A segment that was inserted before is left as it is.
 */
async function writeUnder(db: Db, driver: Driver, leases: string[], commit: CommitRows): Promise<Written> {
  const rows = await writingOf(commit).execute<{ id: string }>(db, driver, { ...commit, leases });
  const ids = new Set(rows.map(({ id }) => id));
  const ended = commit.endings.filter((ending) => ids.has(ending.run_id));
  return {
    expired: leases.filter((lease) => !ids.has(lease)),
    // An admission that does not see the end yet may defer a run.
    ended: new Map([...endedAtOnce(commit.runs), ...ended.map(({ run_id: id }) => [id, true] as const)]),
  };
}

/** The new runs that have ended. Their owners have no limit, so that nobody waits for their places. */
function endedAtOnce(runs: NewRun[]) {
  return runs.flatMap(({ id, ended_at: endedAt }) => (endedAt === null ? [] : [[id, false] as const]));
}

const WRITING = new Map<string, Statement<LeasedRows>>();

/** The statement for commits that have the same kinds of rows as this one: most have only segments, and are planned faster so. */
function writingOf({ runs, usage, endings }: CommitRows): Statement<LeasedRows> {
  const has = { runs: runs.length > 0, usage: usage.length > 0, endings: endings.length > 0 };
  const key = JSON.stringify(has);
  let writing = WRITING.get(key);
  if (!writing) {
    writing = new Statement((db, place) => {
      const isOwned = sql<boolean>`(select count(*) from leased) = ${place(({ leases }) => leases.length)}`;
      let written = leasing(db, place);
      if (has.runs) written = insertingRuns(written, place, isOwned);
      if (has.usage) written = countingUsage(written, place, isOwned);
      if (!has.endings) return insertingLog(written, place, isOwned).selectFrom('leased').select('id');
      return insertingEnded(written, place, isOwned)
        .selectFrom('leased')
        .select('id')
        .unionAll((of) => of.selectFrom('ended').select('id'));
    });
    WRITING.set(key, writing);
  }
  return writing;
}

type Place = PlaceOf<LeasedRows>;
type Leasing = ReturnType<typeof leasing>;

function leasing(db: Db, place: Place) {
  return db.with('leased', (of) =>
    of
      .selectFrom('processes')
      .select('id')
      .where('id', '=', sql<string>`any(${place(({ leases }) => leases)}::text[])`)
      .forKeyShare(),
  );
}

function insertingRuns(written: Leasing, place: Place, isOwned: RawBuilder<boolean>) {
  const inserted = written.with('admitted', (of) => {
    const rows = tableOf('row', RUN_TYPES, place, ({ runs }) => runs);
    const insert = of.insertInto('runs').columns(RUN_COLUMNS);
    return insert.expression((run) => run.selectFrom(rows).select(RUN_COLUMNS).where(isOwned));
  });
  return inserted as unknown as Leasing;
}

function countingUsage(written: Leasing, place: Place, isOwned: RawBuilder<boolean>) {
  const counted = written
    .with('used', (of) => of.selectFrom(tableOf('row', USAGE_TYPES, place, ({ usage }) => usage)).selectAll())
    .with('counted', (of) => updateUsage(of).where(isOwned));
  return counted as unknown as Leasing;
}

function insertingLog(written: Leasing, place: Place, isOwned: RawBuilder<boolean>) {
  return written.with('logged', (of) =>
    of
      .insertInto('log')
      .columns(SEGMENT_COLUMNS)
      .expression((log) => log.selectFrom(segmentsIn(place)).select(SEGMENT_COLUMNS).where(isOwned))
      .onConflict((conflict) => conflict.columns(['run_id', 'last']).doNothing()),
  );
}

/** Ends runs, and inserts `done` for those that it has ended, with all other segments. */
function insertingEnded(written: Leasing, place: Place, isOwned: RawBuilder<boolean>) {
  return written
    .with('ending', (of) =>
      of.selectFrom(tableOf('row', ENDING_TYPES, place, ({ endings }) => endings)).selectAll(),
    )
    .with('ended', (of) => updateRuns(of).where(isOwned).returning('runs.id'))
    .with('logged', (of) =>
      of
        .insertInto('log')
        .columns(SEGMENT_COLUMNS)
        .expression((log) =>
          log
            .selectFrom(segmentsIn(place))
            .select(SEGMENT_COLUMNS)
            .where(isOwned)
            .unionAll(
              log
                .selectFrom('ending')
                .innerJoin('ended', 'ended.id', 'ending.run_id')
                .select(SEGMENT_COLUMNS),
            ),
        )
        .onConflict((conflict) => conflict.columns(['run_id', 'last']).doNothing()),
    );
}

const segmentsIn = (place: Place) => tableOf('segment', SEGMENT_TYPES, place, ({ segments }) => segments);

/** Writes with statements that are passed at once. For SQLite, where no other process can own a run. */
async function writeToFile(database: Database, commit: LogCommit): Promise<Written> {
  const { driver } = database;
  const { runs, segments, move, checkpoints, usage, endings, deliveries } = commit;
  const hasNew = runs.length > 0;
  if (move?.row) {
    const { row } = move;
    const append = () => driver.journal!.append(row);
    // A journal that can be written does not end an outage of the SQLite file.
    await append().catch(() => (hasNew ? database.attempt(append) : database.persist(append)));
  }
  const others = [runs, segments, checkpoints, usage, endings, deliveries];
  if (others.every(({ length }) => length === 0)) return { expired: [], ended: new Map() };
  const write = async (db: Db) => {
    const [, , rows] = await Promise.all([
      insertion.execute(db, driver, runs),
      insertingDone.execute(db, driver, endings),
      updating.execute<{ id: string; deferred: string | null }>(db, driver, endings),
      insertSegments(db, driver, segments),
      updatingUsage.execute(db, driver, usage),
      ...checkpoints.map((checkpoint) => storeCheckpoint(db, checkpoint)),
      insertDeliveries(db, driver, deliveries),
    ]);
    return rows;
  };
  const ended = await (hasNew
    ? database.attempt(write, 'round trip')
    : database.persist(write, 'round trip'));
  const later = ended.map(({ id, deferred }) => [id, deferred !== null] as const);
  return { expired: [], ended: new Map([...endedAtOnce(runs), ...later]) };
}

async function storeCheckpoint(db: Db, { id, process, attempt, state, seq }: Checkpoint): Promise<void> {
  await db
    .updateTable('runs')
    .set({ checkpoint: state, checkpoint_seq: seq })
    .where('id', '=', id)
    .where('process', '=', process)
    .where('attempt', '=', attempt)
    .execute();
}
