import { Logger } from '@nestjs/common';
import {
  type Compilable,
  type ExpressionBuilder,
  type QueryCreator,
  type Selectable,
  type SelectQueryBuilder,
  sql,
} from 'kysely';
import { INTERRUPTED, type RunEnd, type RunRecord, type RunStatus, stackForLog } from '../../query/index.js';
import { type ColumnTypes, RowStatement } from '../drivers/row-statement.js';
import type { Db, Tables } from '../schema/tables.js';

export const COLUMNS = [
  'id',
  'owner',
  'session',
  'status',
  'created_at',
  'started_at',
  'ended_at',
  'outcome',
  'attempt',
  'detached',
  'trace',
  'path',
  'metadata',
] as const;

/** What a run has in `cancelled` that a newer one takes the place of. */
export const REPLACED = 2;

export type RunRow = Pick<Selectable<Tables['runs']>, (typeof COLUMNS)[number]> & { last_seq: number };

/** Where the log of a run ends: null for an empty log. */
export function newestOf(of: ExpressionBuilder<Tables, 'runs'>, column: 'last' | 'end_offset') {
  return of
    .selectFrom('log')
    .select((log) => log.fn.max<number | null>(`log.${column}`).as(column))
    .whereRef('log.run_id', '=', 'runs.id');
}

/** Selects the columns of `RunRecord`s. The `last_seq` of an unfinished run comes from its log. */
export function selectRuns(db: Db): SelectQueryBuilder<Tables, 'runs', RunRow> {
  return db
    .selectFrom('runs')
    .select(COLUMNS)
    .select((of) => of.fn.coalesce('runs.last_seq', newestOf(of, 'last'), of.lit(0)).as('last_seq'));
}

/** A statement with a table of rows, which has this name and these columns in it. */
export function statementWith<Row extends object, Name extends string>(
  name: Name,
  types: ColumnTypes<Row>,
  build: (db: QueryCreator<Tables & Record<Name, Row>>) => Compilable,
): RowStatement<Row> {
  const columns = Object.keys(types).join(', ');
  return new RowStatement<Row>(types, (db, rows) =>
    build(db.with(`${name}(${columns})`, () => sql<Row>`(${rows})` as never) as never),
  );
}

/** Names an attempt of a run, and the process that owns the run. */
export interface OwnedAttempt {
  id: string;
  attempt: number;
  process: string;
}

/** What was told to have damaged values: each once, and so many at most. */
const told = new Set<string>();
const TOLD = 1_000;

/**
 * The value of a column of JSON. A value that is damaged reads as missing, so that one row does not stop the work with many.
 *
 * @param of what the row belongs to
 */
export function valueOf<T>(json: string | null, of: string): T | undefined {
  try {
    return json === null ? undefined : (JSON.parse(json) as T);
  } catch (error) {
    if (told.size < TOLD && !told.has(of)) {
      told.add(of);
      new Logger('Database').error(`A value of ${of} is damaged, and reads as missing.`, stackForLog(error));
    }
    return undefined;
  }
}

/** Makes the record of a row. WARNING: the row's `owner` must not be null. */
export function recordOf(row: RunRow): RunRecord {
  return {
    id: row.id,
    owner: valueOf<string>(row.owner, row.id) ?? '',
    // A run whose session cannot be read is still in the queue of that session.
    sessionId: row.session === null ? undefined : (valueOf(row.session, row.id) ?? ''),
    status: row.status as RunStatus,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    lastSeq: row.last_seq,
    end: row.outcome === null ? undefined : (valueOf<RunEnd>(row.outcome, row.id) ?? INTERRUPTED),
    attempt: row.attempt,
    detached: row.detached === 1,
    trace: row.trace ?? undefined,
    path: row.path ?? undefined,
    metadata: valueOf(row.metadata, row.id),
  };
}

/** The run, if this owner has it. */
export async function findRun(db: Db, owner: string, runId: string): Promise<RunRecord | undefined> {
  const row = await selectRuns(db)
    .where('id', '=', runId)
    .where('owner', '=', JSON.stringify(owner))
    .executeTakeFirst();
  return row && recordOf(row);
}

/** Whether a string may be the id of a run. Other strings are not looked up; Postgres refuses some of them, such as those with a NUL. */
export function isRunId(id: string): boolean {
  return /^[\w-]{1,100}$/.test(id);
}
