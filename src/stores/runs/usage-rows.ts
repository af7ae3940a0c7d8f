import {
  type ExpressionBuilder,
  type OnConflictBuilder,
  type QueryCreator,
  type RawBuilder,
  sql,
} from 'kysely';
import { dayOf, type RunRecord, USAGE_DAYS, type Used } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { type ColumnTypes, type PlaceOf, RowStatement, tableOf } from '../drivers/row-statement.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';

/** Rows of `new_usage`: what the envelopes of one commit tell. */
export type NewUsage = Tables['new_usage'];

/** Stands for the session in the sums of all runs, with and without a session. */
export const ALL_SESSIONS = '*';

/** That of the sums of runs without a session, and of those whose session is not kept any more. */
export const NO_SESSION = '';

/** The name of the lock of whoever changes sums. */
const LOCK = 'usage';

/** How many rows one step adds up, at least, if there are so many. */
const BATCH = 500;

const COUNTS = {
  runs: 'bigint',
  input_tokens: 'bigint',
  output_tokens: 'bigint',
  reasoning_tokens: 'bigint',
  cached_input_tokens: 'bigint',
  price: 'bigint',
} as const;
export const COUNT_COLUMNS = Object.keys(COUNTS) as (keyof typeof COUNTS)[];

const TYPES: ColumnTypes<NewUsage> = {
  writer: 'text',
  number: 'bigint',
  n: 'bigint',
  owner_hash: 'bigint',
  owner: 'text',
  session_key: 'text',
  session: 'text',
  day: 'bigint',
  model_key: 'text',
  model: 'text',
  ...COUNTS,
};
const COLUMNS = Object.keys(TYPES) as (keyof NewUsage)[];

/** Whether the log of a run has an envelope that tells something: a line that begins so. The case counts, unlike in `like`. */
export function hasUsage(of: ExpressionBuilder<Tables, 'runs'>) {
  const log = sql`${'\n'} || log.envelopes`;
  return of.exists(
    of
      .selectFrom('log')
      .select('log.run_id')
      .whereRef('log.run_id', '=', 'runs.id')
      .where(sql<boolean>`replace(${log}, ${'\n{"type":"usage",'}, '') <> ${log}`),
  );
}

/** What an envelope tells; `isFirst`: no envelope of the run has told anything before. */
export interface UsedByRun {
  run: Pick<RunRecord, 'owner' | 'sessionId'>;
  used: Used;
  isFirst: boolean;
}

/**
 * The rows of a commit: one for each owner, session and model.
 *
 * @param writer who commits one after another: a repeated commit of the same number has rows that are there already
 */
export function newUsage(writer: string, number: number, day: number, all: UsedByRun[]): NewUsage[] {
  const rows = new Map<string, NewUsage>();
  for (const { run, used, isFirst } of all) {
    const { owner, sessionId } = run;
    const key = JSON.stringify([owner, sessionId, used.model]);
    let row = rows.get(key);
    if (!row) rows.set(key, (row = emptyRow(writer, number, rows.size, day, owner, sessionId, used.model)));
    row.runs += isFirst ? 1 : 0;
    row.input_tokens += used.inputTokens;
    row.output_tokens += used.outputTokens;
    row.reasoning_tokens += used.reasoningTokens;
    row.cached_input_tokens += used.cachedInputTokens;
    row.price += used.price;
  }
  return [...rows.values()];
}

/** Without a spread: in Node 20, one at the beginning of an object of this size takes 25 µs. */
function emptyRow(
  writer: string,
  number: number,
  n: number,
  day: number,
  owner: string,
  sessionId: string | undefined,
  model: string | undefined,
): NewUsage {
  return {
    writer,
    number,
    n,
    day,
    owner_hash: ownerHashOf(owner),
    owner: JSON.stringify(owner),
    session_key: sessionId === undefined ? NO_SESSION : keyOf(owner, sessionId),
    session: sessionId === undefined ? null : JSON.stringify(sessionId),
    model_key: model === undefined ? '' : keyOf('', model),
    model: model === undefined ? null : JSON.stringify(model),
    runs: 0,
    input_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cached_input_tokens: 0,
    price: 0,
  };
}

const insertion = new RowStatement<NewUsage>(TYPES, (db, rows) =>
  insertInto(db).expression(rows).onConflict(leave),
);

/** Inserts what envelopes tell, in the transaction that inserts them. It is repeatable. */
export async function insertNewUsage(db: Db, driver: Driver, rows: NewUsage[]): Promise<void> {
  if (rows.length > 0) await insertion.execute(db, driver, rows);
}

/** The same as a part of a statement, where a condition holds. For Postgres. */
export function insertingNewUsage<Values>(
  db: Pick<QueryCreator<Tables>, 'insertInto'>,
  place: PlaceOf<Values>,
  rowsOf: (values: Values) => NewUsage[],
  condition: RawBuilder<boolean>,
) {
  return insertInto(db)
    .expression((of) =>
      of
        .selectFrom(tableOf('row', TYPES, place, rowsOf))
        .select(COLUMNS)
        .where(condition),
    )
    .onConflict(leave);
}

function insertInto(db: Pick<QueryCreator<Tables>, 'insertInto'>) {
  return db.insertInto('new_usage').columns(COLUMNS);
}

function leave(conflict: OnConflictBuilder<Tables, 'new_usage'>) {
  return conflict.columns(['writer', 'number', 'n']).doNothing();
}

/** Keeps the sums of usage. */
export class UsageSums {
  /** The day on which this process has removed what was too old. */
  #cleanedOn = 0;

  constructor(private readonly database: Database) {}

  /** Adds up what is new, and removes what is too old. One process does this at a time. */
  async addUp(): Promise<void> {
    const { database } = this;
    const today = dayOf(database.now());
    const writers = await database.attempt((db) =>
      db
        .selectFrom('new_usage')
        .select('writer')
        .select((of) => [of.fn.max('number').as('newest'), of.fn.max('day').as('day')])
        .groupBy('writer')
        .execute(),
    );
    for (const { writer, newest, day } of writers) {
      // The newest commit may be repeated: its answer may have been lost. After so long, its process is gone.
      const last = day < today - 1 ? newest : newest - 1;
      while (await database.attemptTransaction((db) => addNext(db, database.driver, writer, last)));
    }
    if (this.#cleanedOn === today) return;
    const oldest = today - USAGE_DAYS;
    await database.attempt((db) => db.deleteFrom('usage').where('day', '<', oldest).execute());
    this.#cleanedOn = today;
  }
}

/** Adds up the oldest commits of a writer, up to a number. Returns whether there may be more. */
async function addNext(db: Db, driver: Driver, writer: string, last: number): Promise<boolean> {
  await driver.lock(db, LOCK);
  const oldest = await db
    .selectFrom('new_usage')
    .select('number')
    .where('writer', '=', writer)
    .where('number', '<=', last)
    .orderBy('number')
    .limit(BATCH)
    .execute();
  if (oldest.length === 0) return false;
  const moved = sql<boolean>`writer = ${writer} and number <= ${oldest.at(-1)!.number}`;
  await addSums(db, 'new_usage', moved, ALL_SESSIONS);
  await addSums(db, 'new_usage', moved);
  await db.deleteFrom('new_usage').where(moved).execute();
  return oldest.length === BATCH;
}

/** Lets usage belong to no session any more, in the transaction that removes the session. All its runs have ended. */
export async function removeSessionOfUsage(
  db: Db,
  driver: Driver,
  ownerHash: number,
  sessionKey: string,
): Promise<void> {
  await driver.lock(db, LOCK);
  const moved = sql<boolean>`owner_hash = ${ownerHash} and session_key = ${sessionKey}`;
  await db.updateTable('new_usage').set({ session_key: NO_SESSION, session: null }).where(moved).execute();
  await addSums(db, 'usage', moved, NO_SESSION);
  await db.deleteFrom('usage').where(moved).execute();
}

/** Adds rows to the sums of a session. Default: of the one that each belongs to. */
async function addSums(
  db: Db,
  table: 'new_usage' | 'usage',
  rows: RawBuilder<boolean>,
  sessionKey?: string,
): Promise<void> {
  await db
    .insertInto('usage')
    .columns([...SUM_COLUMNS, ...COUNT_COLUMNS])
    .expression((of) =>
      of
        .selectFrom(table as 'usage')
        .where(rows)
        .select(['owner_hash', 'owner', 'day', 'model_key', (row) => row.fn.max('model').as('model')])
        .select((row) =>
          sessionKey === undefined
            ? ['session_key', row.fn.max('session').as('session')]
            : [sql<string>`${sessionKey}`.as('session_key'), row.lit(null).as('session')],
        )
        .select((row) => COUNT_COLUMNS.map((column) => row.fn.sum<number>(column).as(column)))
        .groupBy(['owner_hash', 'owner', 'day', 'model_key'])
        .$if(sessionKey === undefined, (each) => each.groupBy('session_key')),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['owner_hash', 'session_key', 'day', 'model_key', 'owner'])
        .doUpdateSet((row) =>
          Object.fromEntries(
            COUNT_COLUMNS.map((column) => [
              column,
              row(`usage.${column}`, '+', row.ref(`excluded.${column}`)),
            ]),
          ),
        ),
    )
    .execute();
}

/** In the order in which `addSums` selects them. */
const SUM_COLUMNS = ['owner_hash', 'owner', 'day', 'model_key', 'model', 'session_key', 'session'] as const;
