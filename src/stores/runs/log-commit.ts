import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { type PlaceOf, Statement, tableOf } from '../drivers/row-statement.js';
import type { Db } from '../schema/tables.js';
import { insertDeliveries, type NewDelivery } from './outbox.js';
import type { Journal } from './journal.js';
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
} from './run-changes.js';
import type { OwnedAttempt } from './run-rows.js';
import { insertSegments, type Segment, SEGMENT_COLUMNS, SEGMENT_TYPES, statementsOf } from './segments.js';

export interface LogCommit {
  segments: Segment[];
  /** Writes these segments to a file. */
  journal: Journal;
  /** The runs of which nothing may stay in the journal. */
  whole: Iterable<string>;
  /** The checkpoints of runs that do not end. */
  checkpoints: Checkpoint[];
  /** What runs that do not end have used, with these segments. */
  usage: UsageOfRun[];
  /** Runs without a session that end, behind these segments. */
  endings: RunEnding[];
  /** The webhooks of these ends. */
  deliveries: NewDelivery[];
}

type CommitRows = Pick<LogCommit, 'segments' | 'usage' | 'endings'>;
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

/** Writes a commit, if all these leases are valid, however long an outage lasts. */
export function writeCommit(database: Database, leases: string[], commit: LogCommit): Promise<Written> {
  const { driver } = database;
  const { segments, checkpoints, usage, endings, deliveries } = commit;
  if (!driver.isShared) return writeToFile(database, commit);
  if (checkpoints.length + deliveries.length === 0 && statementsOf(segments).length <= 1) {
    return database.persistAtOnce((db) => writeUnder(db, driver, leases, commit));
  }
  return database.persistTransaction(async (db) => {
    // Locks the leases until the end of the transaction.
    const written = await writeUnder(db, driver, leases, { segments: [], usage, endings });
    if (written.expired.length > 0) return written;
    await insertSegments(db, driver, segments);
    for (const checkpoint of checkpoints) await storeCheckpoint(db, checkpoint);
    await insertDeliveries(db, driver, deliveries);
    return written;
  });
}

/**
 * Writes in one statement, if all these leases are valid. They cannot end before the statement has ended. For Postgres:
 * SQLite has no data-modifying `with`. A segment that was inserted before is left as it is.
 */
async function writeUnder(db: Db, driver: Driver, leases: string[], commit: CommitRows): Promise<Written> {
  const statement = commit.usage.length === 0 ? writing : writingUsage;
  const rows = await statement.execute<{ id: string }>(db, driver, { ...commit, leases });
  const ids = new Set(rows.map(({ id }) => id));
  const ended = commit.endings.filter((ending) => ids.has(ending.run_id));
  return {
    expired: leases.filter((lease) => !ids.has(lease)),
    // An admission that does not see the end yet may defer a run.
    ended: new Map(ended.map((ending) => [ending.run_id, true])),
  };
}

const writing = new Statement<LeasedRows>((db, place) => idsOf(writtenUnder(db, place, isOwner(place))));

const writingUsage = new Statement<LeasedRows>((db, place) => {
  const written = writtenUnder(db, place, isOwner(place));
  const counted = written
    .with('used', (of) => of.selectFrom(tableOf('row', USAGE_TYPES, place, ({ usage }) => usage)).selectAll())
    .with('counted', (of) => updateUsage(of).where(isOwner(place)));
  return idsOf(counted);
});

function isOwner(place: PlaceOf<LeasedRows>) {
  return sql<boolean>`(select count(*) from leased) = ${place(({ leases }) => leases.length)}`;
}

function idsOf(written: ReturnType<typeof writtenUnder>) {
  return written
    .selectFrom('leased')
    .select('id')
    .unionAll((of) => of.selectFrom('ended').select('id'));
}

function writtenUnder(db: Db, place: PlaceOf<LeasedRows>, isOwned: RawBuilder<boolean>) {
  return db
    .with('leased', (of) =>
      of
        .selectFrom('processes')
        .select('id')
        .where('id', '=', sql<string>`any(${place(({ leases }) => leases)}::text[])`)
        .forKeyShare(),
    )
    .with('ending', (of) =>
      of.selectFrom(tableOf('row', ENDING_TYPES, place, ({ endings }) => endings)).selectAll(),
    )
    .with('ended', (of) => updateRuns(of).where(isOwned).returning('runs.id'))
    .with('inserted', (of) =>
      of
        .insertInto('log')
        .columns(SEGMENT_COLUMNS)
        .expression((log) =>
          log
            .selectFrom(tableOf('segment', SEGMENT_TYPES, place, ({ segments }) => segments))
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

/** Writes with statements that are passed at once. For SQLite, where no other process can own a run. */
async function writeToFile(database: Database, commit: LogCommit): Promise<Written> {
  const { driver } = database;
  const { segments, journal, whole, checkpoints, usage, endings, deliveries } = commit;
  const move = journal.plan(segments, [...whole, ...endings.map(({ run_id: id }) => id)]);
  const ended = await database.persistAtOnce(async (db) => {
    const [, rows] = await Promise.all([
      insertingDone.execute(db, driver, endings),
      updating.execute<{ id: string; deferred: string | null }>(db, driver, endings),
      journal.write(db, driver, move),
      updatingUsage.execute(db, driver, usage),
      ...checkpoints.map((checkpoint) => storeCheckpoint(db, checkpoint)),
      insertDeliveries(db, driver, deliveries),
    ]);
    return rows;
  });
  journal.written(move);
  return { expired: [], ended: new Map(ended.map(({ id, deferred }) => [id, deferred !== null])) };
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
