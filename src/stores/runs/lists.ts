import { sql } from 'kysely';
import {
  type ListPage,
  type ListPosition,
  pageFrom,
  type RunRecord,
  type RunsPage,
  type SessionRecord,
} from '../../query/index.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import { recordOf, selectRuns, valueOf } from './run-rows.js';

/** What an entry adds to the length of a page besides its texts. */
const OVERHEAD = 256;

/** What is known of an entry before it is read. */
interface Entry extends ListPosition {
  length: number;
}

export async function listRuns(
  db: Db,
  owner: string,
  { sessionId, status, ...page }: RunsPage,
): Promise<{ runs: RunRecord[]; next: ListPosition | undefined }> {
  const { after } = page;
  const ownerJson = JSON.stringify(owner);
  const entries: Entry[] = await db
    .selectFrom('runs')
    .select(['id as key', 'created_at as at'])
    .select(lengthOf('session', 'outcome').as('length'))
    .where('owner', '=', ownerJson)
    // Not both: SQLite would have to guess which of them is found in fewer runs.
    .$if(sessionId === undefined, (of) => of.where('owner_hash', '=', ownerHashOf(owner)))
    .$if(sessionId !== undefined, (of) => of.where('session_key', '=', keyOf(owner, sessionId!)))
    .$if(status !== undefined, (of) => of.where('status', '=', status!))
    .$if(after !== undefined, (of) =>
      of
        .where('created_at', '<=', after!.at)
        .where((or) => or.or([or('created_at', '<', after!.at), or('id', '<', after!.key)])),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  const { entries: fitting, next } = fit(entries, page);
  if (fitting.length === 0) return { runs: [], next };
  // A run may have been erased, or have another status, since.
  const rows = await selectRuns(db)
    .where('id', 'in', keysOf(fitting))
    .where('owner', '=', ownerJson)
    .$if(status !== undefined, (of) => of.where('status', '=', status!))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  return { runs: rows.map(recordOf), next };
}

export async function listSessions(
  db: Db,
  owner: string,
  page: ListPage,
): Promise<{ sessions: SessionRecord[]; next: ListPosition | undefined }> {
  const { after } = page;
  const entries: Entry[] = await db
    .selectFrom('sessions')
    .select(['key', 'used_at as at'])
    .select(lengthOf('id', 'title').as('length'))
    .where('owner', '=', JSON.stringify(owner))
    .where('owner_hash', '=', ownerHashOf(owner))
    .$if(after !== undefined, (of) =>
      of
        .where('used_at', '<=', after!.at)
        .where((or) => or.or([or('used_at', '<', after!.at), or('key', '<', after!.key)])),
    )
    .orderBy('used_at', 'desc')
    .orderBy('key', 'desc')
    .limit(page.limit + 1)
    .execute();
  const { entries: fitting, next } = fit(entries, page);
  if (fitting.length === 0) return { sessions: [], next };
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'title', 'turns', 'used_at'])
    .select((of) =>
      of
        .selectFrom('runs')
        .select('runs.id')
        .whereRef('runs.session_key', '=', 'sessions.key')
        .where('runs.ended_at', 'is', null)
        .where('runs.status', '=', 'running')
        .orderBy('runs.queue_position')
        .limit(1)
        .as('active'),
    )
    .where('key', 'in', keysOf(fitting))
    .orderBy('used_at', 'desc')
    .orderBy('key', 'desc')
    .execute();
  const sessions = rows.map(({ id, title, turns, used_at, active }): SessionRecord => ({
    id: valueOf(id, 'a session') ?? '',
    title: valueOf(title, 'a session'),
    turns,
    usedAt: used_at,
    active: active ?? undefined,
  }));
  return { sessions, next };
}

function lengthOf(...columns: string[]) {
  const lengths = columns.map((column) => sql`coalesce(length(${sql.ref(column)}), 0)`);
  return sql<number>`${sql.lit(OVERHEAD)} + ${sql.join(lengths, sql` + `)}`;
}

function keysOf(entries: Entry[]): string[] {
  return entries.map(({ key }) => key);
}

function fit(entries: Entry[], page: ListPage) {
  return pageFrom(
    entries,
    page,
    ({ length }) => length,
    ({ at, key }) => ({ at, key }),
  );
}
