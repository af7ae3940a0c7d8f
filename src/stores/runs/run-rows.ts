import { createHash } from 'node:crypto';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { RunEnd, RunRecord, RunStatus } from '../../query/index.js';
import type { Db, Tables } from '../schema/tables.js';

/** A name among those of its kind: fixed in length, whatever the strings are. */
export function keyOf(owner: string, name: string): string {
  return createHash('sha256')
    .update(JSON.stringify([owner, name]))
    .digest('base64url');
}

/** The columns that make a `RunRecord`. */
export interface RunRow {
  id: string;
  owner: string | null;
  session: string | null;
  status: string;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  outcome: string | null;
  last_seq: number;
}

/** Selects what makes a `RunRecord`. The number of the newest envelope of an unfinished run stands in its log only. */
export function selectRuns(db: Db): SelectQueryBuilder<Tables, 'runs', RunRow> {
  const newest = db
    .selectFrom('log')
    .select((of) => of.fn.max('log.last').as('last'))
    .where('log.run_id', '=', sql.ref<string>('runs.id'));
  return db
    .selectFrom('runs')
    .select(['id', 'owner', 'session', 'status', 'created_at', 'started_at', 'ended_at', 'outcome'])
    .select(sql<number>`coalesce(${sql.ref('runs.last_seq')}, ${newest}, 0)`.as('last_seq'));
}

export function recordOf(row: RunRow): RunRecord {
  return {
    id: row.id,
    owner: JSON.parse(row.owner!) as string,
    sessionId: row.session === null ? undefined : (JSON.parse(row.session) as string),
    status: row.status as RunStatus,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    lastSeq: row.last_seq,
    end: row.outcome === null ? undefined : (JSON.parse(row.outcome) as RunEnd),
  };
}

/** The session's runs that have not ended, oldest first. */
export async function lineOf(db: Db, sessionKey: string): Promise<RunRecord[]> {
  const rows = await selectRuns(db)
    .where('session_key', '=', sessionKey)
    .where('ended_at', 'is', null)
    .orderBy('place')
    .execute();
  return rows.map(recordOf);
}

/** Whether a string can be the id of a run: any other need not be looked up, and some no database would take. */
export function isRunId(id: string): boolean {
  return /^[\w-]{1,100}$/.test(id);
}
