import { type QueryCreator, type RawBuilder, sql } from 'kysely';
import { doneText, type RunEnd } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { type PlaceOf, Statement, tableOf } from '../drivers/row-statement.js';
import type { Db, Tables } from '../schema/tables.js';
import { insertDeliveries, type NewDelivery } from './outbox.js';
import { deferredOf } from './queues.js';
import { type OwnedAttempt, statementWith } from './run-rows.js';
import {
  insertSegments,
  type LogExtent,
  type Segment,
  SEGMENT_COLUMNS,
  SEGMENT_TYPES,
  segmentsOf,
  statementsOf,
} from './segments.js';
import { insertingNewUsage, insertNewUsage, type NewUsage } from './usage-rows.js';

export interface LogCommit {
  segments: Segment[];
  /** The checkpoints of runs that do not end. */
  checkpoints: Checkpoint[];
  /** What envelopes of these segments tell. */
  usage: NewUsage[];
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

const ENDING_TYPES = {
  ...SEGMENT_TYPES,
  process: 'text',
  attempt: 'bigint',
  status: 'text',
  ended_at: 'bigint',
  outcome: 'text',
  log_length: 'bigint',
} as const;

/** The end of a run: the segment of `done`, the process and the attempt that the run must have before, and its new values. */
export type RunEnding = {
  [Name in keyof typeof ENDING_TYPES]: (typeof ENDING_TYPES)[Name] extends 'text' ? string : number;
};

/** Whether a run is in the state that its ending requires. */
const MAY_END = sql<boolean>`runs.id = ending.run_id and runs.process = ending.process
  and runs.attempt = ending.attempt and runs.ended_at is null`;

/** Makes the ending of a run whose log ends at `log`, before `done`. */
export function endingOf(
  { id, process, attempt }: OwnedAttempt,
  log: LogExtent,
  end: RunEnd,
  endedAt: number,
): RunEnding {
  const done = doneText(end);
  const [segment] = segmentsOf(id, log, [done]);
  return {
    ...segment!,
    process,
    attempt,
    status: end.status,
    ended_at: endedAt,
    outcome: JSON.stringify(end),
    log_length: log.length + done.length,
  };
}

/** Ends a run, as a part of a transaction. Returns false if it is not in the state that this requires. */
export async function endRun(db: Db, driver: Driver, ending: RunEnding): Promise<boolean> {
  const ended = await updating.execute(db, driver, [ending]);
  if (ended.length > 0) await insertSegments(db, driver, [ending]);
  return ended.length > 0;
}

/** Writes a commit, if all these leases are valid, however long an outage lasts. */
export function writeCommit(database: Database, leases: string[], commit: LogCommit): Promise<Written> {
  const { driver } = database;
  const { segments, checkpoints, usage, endings, deliveries } = commit;
  if (!driver.isShared) return database.persistAtOnce((db) => writeAtOnce(db, driver, commit));
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
  const counted = written.with('counted', (of) =>
    insertingNewUsage(of, place, ({ usage }) => usage, isOwner(place)),
  );
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
async function writeAtOnce(
  db: Db,
  driver: Driver,
  { segments, checkpoints, usage, endings, deliveries }: LogCommit,
): Promise<Written> {
  const [, ended] = await Promise.all([
    insertingDone.execute(db, driver, endings),
    updating.execute<{ id: string; deferred: string | null }>(db, driver, endings),
    insertSegments(db, driver, segments),
    insertNewUsage(db, driver, usage),
    ...checkpoints.map((checkpoint) => storeCheckpoint(db, checkpoint)),
    insertDeliveries(db, driver, deliveries),
  ]);
  return { expired: [], ended: new Map(ended.map(({ id, deferred }) => [id, deferred !== null])) };
}

/** Inserts `done` where `updating` is going to end the run. */
const insertingDone = statementWith<RunEnding, 'ending'>('ending', ENDING_TYPES, (db) =>
  db
    .insertInto('log')
    .columns(SEGMENT_COLUMNS)
    .expression((of) => of.selectFrom(['ending', 'runs']).select(SEGMENT_COLUMNS).where(MAY_END)),
);

const updating = statementWith<RunEnding, 'ending'>('ending', ENDING_TYPES, (db) =>
  updateRuns(db)
    .returning('runs.id')
    .returning((of) => deferredOf(of.ref('runs.owner_key'))),
);

function updateRuns(db: Pick<QueryCreator<Tables & { ending: RunEnding }>, 'updateTable'>) {
  return db
    .updateTable('runs')
    .from('ending')
    .set((row) => ({
      parts: null,
      kwargs: null,
      checkpoint: null,
      status: row.ref('ending.status'),
      ended_at: row.ref('ending.ended_at'),
      outcome: row.ref('ending.outcome'),
      last_seq: row.ref('ending.last'),
      log_length: row.ref('ending.log_length'),
    }))
    .where(MAY_END);
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
