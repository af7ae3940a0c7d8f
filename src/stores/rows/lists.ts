import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely';
import {
  type ListPage,
  type ListPosition,
  pageFrom,
  type RunStatus,
  type RunsPage,
  type SessionRecord,
} from '../../query/index.js';
import { entryKey, keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';
import { inputOf, selectInputs } from './input-rows.js';
import { recordOf, selectRuns, valueOf } from './run-rows.js';

/** What an entry adds to the length of a page besides its texts. */
const OVERHEAD = 256;

interface Entry extends ListPosition {
  length: number;
}

export async function listRuns(db: Db, owner: string, { sessionId, status, metadata, ...page }: RunsPage) {
  const ownerJson = JSON.stringify(owner);
  const keysOfEntries = Object.entries(metadata ?? {}).map((entry) => entryKey(owner, entry));
  const listed = await rarestFirst(db, keysOfEntries, page);
  const isByEntry = listed.length > 0;
  const entries = db
    .selectFrom('runs')
    .select(['runs.id as key', 'runs.created_at as at'])
    .select(lengthOf('session', 'outcome', 'runs.metadata').as('length'))
    .where('owner', '=', ownerJson)
    // Not all: SQLite would have to guess which of them is found in fewest runs.
    .$if(sessionId === undefined && !isByEntry, (of) => of.where('owner_hash', '=', ownerHashOf(owner)))
    .$if(sessionId !== undefined, (of) => of.where('session_key', '=', keyOf(owner, sessionId!)))
    .$if(isByEntry, (of) => withEntries(of, listed))
    .$if(status !== undefined, (of) => of.where('status', '=', status!));
  const order: [string, string] = isByEntry
    ? ['listed.created_at', 'listed.run_id']
    : ['runs.created_at', 'runs.id'];
  const { keys, next } = await readPage(entries, order, page);
  if (keys.length === 0) return { runs: [], next };
  // A run may have been erased, or have another status, since.
  const rows = await selectRuns(db)
    .where('id', 'in', keys)
    .where('owner', '=', ownerJson)
    .$if(status !== undefined, (of) => of.where('status', '=', status!))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  return { runs: rows.map(recordOf), next };
}

export async function listSessions(db: Db, owner: string, page: ListPage) {
  const entries = db
    .selectFrom('sessions')
    .select(['key', 'used_at as at'])
    .select(lengthOf('id', 'title').as('length'))
    .where('owner', '=', JSON.stringify(owner))
    .where('owner_hash', '=', ownerHashOf(owner));
  const { keys, next } = await readPage(entries, ['used_at', 'key'], page);
  if (keys.length === 0) return { sessions: [], next };
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'title', 'turns', 'used_at'])
    .select((of) => [runOf(of, 'running').as('active'), runOf(of, 'input_required').as('asking')])
    .where('key', 'in', keys)
    .orderBy('used_at', 'desc')
    .orderBy('key', 'desc')
    .execute();
  const sessions = rows.map(({ id, title, turns, used_at, active, asking }): SessionRecord => ({
    id: valueOf(id, 'a session') ?? '',
    title: valueOf(title, 'a session'),
    turns,
    usedAt: used_at,
    active: active ?? undefined,
    asking: asking ?? undefined,
  }));
  return { sessions, next };
}

/** The entries, first the one that the newest runs of the page have most seldom: of each, as many as the page are looked at. */
async function rarestFirst(db: Db, entries: string[], { after, limit }: ListPage): Promise<string[]> {
  if (entries.length < 2) return entries;
  const since = await db
    .selectNoFrom((of) =>
      entries.map((entry) =>
        of
          .selectFrom('metadata')
          .select('created_at')
          .where('entry', '=', entry)
          .$if(after !== undefined, (each) => each.where('created_at', '<=', after!.at))
          .orderBy('created_at', 'desc')
          .limit(1)
          .offset(limit)
          .as(entry),
      ),
    )
    .executeTakeFirstOrThrow();
  return entries.toSorted((a, b) => Number(since[a]) - Number(since[b]));
}

type Runs = SelectQueryBuilder<Tables, 'runs', Entry>;

/**
 * The runs that have all these entries of metadata: of the newest that has the first one on, each is looked at. Postgres would
 * read all entries if it joined them by their times too, or if it could make a join of `exists`, which `offset` prevents.
 */
function withEntries(runs: Runs, [first, ...others]: string[]): Runs {
  return runs
    .innerJoin('metadata as listed', 'listed.run_id', 'runs.id')
    .where('listed.entry', '=', first!)
    .where((of) => {
      const hasOthers = others.map((entry) => {
        const same = of.selectFrom('metadata as other').select('run_id').where('other.entry', '=', entry);
        return of.exists(
          same
            .whereRef('other.created_at', '=', 'listed.created_at')
            .whereRef('other.run_id', '=', 'listed.run_id')
            .limit(1)
            .offset(0),
        );
      });
      return of.and(hasOthers);
    });
}

/** Open requests of an owner, newest first. */
export async function listOpenInputs(db: Db, owner: string, page: ListPage) {
  const entries = db
    .selectFrom('requests')
    .innerJoin('runs', 'runs.id', 'requests.run_id')
    .select(['requests.key', 'asked_at as at'])
    .select(lengthOf('request').as('length'))
    .where('requests.resolved', 'is', null)
    .where('requests.owner_hash', '=', ownerHashOf(owner))
    .where('runs.owner', '=', JSON.stringify(owner));
  const { keys, next } = await readPage(entries, ['asked_at', 'requests.key'], page);
  if (keys.length === 0) return { inputs: [], next };
  const rows = await selectInputs(db)
    .where('requests.key', 'in', keys)
    .where('requests.resolved', 'is', null)
    .orderBy('asked_at', 'desc')
    .orderBy('requests.key', 'desc')
    .execute();
  return { inputs: rows.flatMap(inputOf), next };
}

/** The run of a session that has this status. */
function runOf(of: ExpressionBuilder<Tables, 'sessions'>, status: RunStatus) {
  return of
    .selectFrom('runs')
    .select('runs.id')
    .whereRef('runs.session_key', '=', 'sessions.key')
    .where('runs.ended_at', 'is', null)
    .where('runs.status', '=', status)
    .orderBy('runs.queue_position')
    .limit(1);
}

function lengthOf(...columns: string[]) {
  const lengths = columns.map((column) => sql`coalesce(length(${sql.ref(column)}), 0)`);
  return sql<number>`${sql.lit(OVERHEAD)} + ${sql.join(lengths, sql` + `)}`;
}

/** Reads which entries belong to a page. They are in descending order of two columns: those of `at` and of `key`. */
async function readPage<Table extends 'runs' | 'sessions' | 'requests'>(
  entries: SelectQueryBuilder<Tables, Table, Entry>,
  [atColumn, keyColumn]: [string, string],
  page: ListPage,
) {
  const { after, limit } = page;
  const [at, key] = [sql.ref(atColumn), sql.ref(keyColumn)];
  const rows = await entries
    .$if(after !== undefined, (of) =>
      of.where(sql<boolean>`${at} <= ${after!.at} and (${at} < ${after!.at} or ${key} < ${after!.key})`),
    )
    .orderBy(at, 'desc')
    .orderBy(key, 'desc')
    .limit(limit + 1)
    .execute();
  const positionOf = (entry: Entry): ListPosition => ({ at: entry.at, key: entry.key });
  const { entries: fitting, next } = pageFrom(rows, page, ({ length }) => length, positionOf);
  return { keys: fitting.map((entry) => entry.key), next };
}
