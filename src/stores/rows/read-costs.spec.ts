import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CompiledQuery, type RootOperationNode, sql } from 'kysely';
import Sqlite from 'libsql';
import { openDatabase, type TestDatabase } from '../../../test/support/postgres.js';
import type { RunsPage } from '../../query/index.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { PostgresDriver } from '../drivers/postgres-driver.js';
import { entryKey, keyOf, ownerHashOf } from '../schema/keys.js';
import { SqliteDb } from '../drivers/sqlite-thread.js';
import type { Db } from '../schema/tables.js';
import { listEndedRuns } from './ended-runs.js';
import { listRuns } from './lists.js';
import { hasWaiting, ownerRefOf, readQueue } from './queues.js';
import { readTurn } from './turns.js';
import { readUsing } from './usage-rows.js';

/** So many runs have the owner and the session of the tests, and have completed. */
const RUNS = 3_000;
const OWNER = 'ann';
const METADATA = { team: 'sales', project: 'x' };
const FILTERS: Partial<RunsPage>[] = [
  { status: 'failed' },
  { status: 'waiting' },
  { sessionId: 's' },
  { sessionId: 's', status: 'failed' },
  { metadata: METADATA },
  { metadata: { team: 'sales' } },
  {},
];

const page = (filter: Partial<RunsPage>): RunsPage => ({
  after: { at: RUNS, key: '' },
  limit: 10,
  ...filter,
});

async function fill(db: Db, runs = 'runs'): Promise<void> {
  const entries = Object.entries(METADATA).map((entry) => entryKey(OWNER, entry));
  await sql`insert into ${sql.table(runs)}
      (id, owner, owner_hash, session_key, session, status, created_at, ended_at, process, metadata_entries)
    with recursive number(n) as (select 1 union all select n + 1 from number where n < ${sql.lit(RUNS)})
    select 'run-' || n, ${JSON.stringify(OWNER)}, ${sql.lit(ownerHashOf(OWNER))}, ${keyOf(OWNER, 's')}, '"s"',
      'completed', n, n, '', ${JSON.stringify(entries)} from number`.execute(db);
  const session = sql.lit(keyOf(OWNER, 's'));
  await sql`insert into ${sql.table(runs.replace(/runs$/, 'turns'))} (session_key, number, run_id, length, page_length, turn)
    with recursive number(n) as (select 1 union all select n + 1 from number where n < ${sql.lit(RUNS)})
    select ${session}, n, 'run-' || n, 2, 2, '{}' from number`.execute(db);
}

/** Does some work, and returns the statements that it passed, with `explain` before them. */
async function explained(db: Db, explain: string, work: (db: Db) => Promise<unknown>) {
  const nodes: RootOperationNode[] = [];
  const transformQuery = ({ node }: { node: RootOperationNode }) => {
    nodes.push(node);
    return node;
  };
  await work(db.withPlugin({ transformQuery, transformResult: async ({ result }) => result }));
  const plans: unknown[][] = [];
  for (const node of nodes) {
    const query = db.getExecutor().compileQuery(node, { queryId: 'explained' });
    plans.push(
      (await db.executeQuery(CompiledQuery.raw(`${explain} ${query.sql}`, [...query.parameters]))).rows,
    );
  }
  return plans;
}

/** Lets these runs of the owner wait, or end. */
async function setStatus(db: Db, status: string, ...ids: string[]): Promise<void> {
  await db
    .updateTable('runs')
    .set({ status, ready_at: 1, owner_key: ownerRefOf(OWNER, '').key })
    .where('id', 'in', ids)
    .execute();
}

interface Plan {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

/** The most rows that a step of a plan of Postgres has read. */
function mostRowsOf(plan: Plan): number {
  const rows = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  return Math.max(rows, ...(plan.Plans ?? []).map(mostRowsOf));
}

describe('However many runs and turns there are,', () => {
  let directory: string;
  let server: TestDatabase;
  let connection: Sqlite.Database;
  let file: Db;
  let postgres: PostgresDriver;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-costs-'));
    server = await openDatabase();
    const path = join(directory, 'runs.db');
    await (await LibsqlDriver.open(path)).close();
    connection = new Sqlite(path);
    const execute = async (text: string, parameters: readonly unknown[]) => {
      const statement = connection.prepare(text);
      return statement.reader ? { rows: statement.all(parameters) } : statement.run(parameters);
    };
    file = new SqliteDb(execute);
    postgres = await PostgresDriver.open(new URL(server.url), {});
    await fill(file);
    await fill(postgres.db, 'agent_query.runs');
    // As Postgres does from time to time.
    await sql`analyze`.execute(postgres.db);
  });
  afterAll(async () => {
    connection.close();
    await postgres.close();
    await server.close();
    await rm(directory, { recursive: true });
  });

  it.each(FILTERS)('a list of %j costs as much as its page, in a file', async (filter) => {
    const plans = await explained(file, 'explain query plan', (db) => listRuns(db, OWNER, page(filter)));
    // The first statement of several entries finds the rarest.
    const listing = filter.metadata === METADATA ? 1 : 0;
    const [first] = (plans[listing] as { detail: string }[]).map(({ detail }) => detail);
    const equal = filter.metadata
      ? ['entry=?']
      : [filter.sessionId ? 'session_key=?' : 'owner_hash=?', ...(filter.status ? ['status=?'] : [])];
    expect(first).toMatch(/^SEARCH (runs USING INDEX runs_|listed USING COVERING INDEX )/);
    expect(first).toContain(`(${[...equal, 'created_at<?'].join(' AND ')})`);
  });

  it.each(FILTERS)('a list of %j costs as much as its page, in Postgres', async (filter) => {
    const plans = await explained(postgres.db, 'explain (analyze, format json)', (db) =>
      listRuns(db, OWNER, page(filter)),
    );
    for (const [row] of plans as { 'QUERY PLAN': [{ Plan: Plan }] }[][]) {
      expect(mostRowsOf(row!['QUERY PLAN'][0].Plan)).toBeLessThanOrEqual(20);
    }
  });

  it('a list of runs that have ended costs as much as its page', async () => {
    for (const status of [undefined, 'completed'] as const) {
      const list = (db: Db) =>
        listEndedRuns(db, OWNER, { status, since: 0, after: { at: RUNS / 2, key: '' }, limit: 10 });
      // Every second statement counts.
      const inFile = await explained(file, 'explain query plan', list);
      for (const plan of inFile.filter((_, index) => index % 2 === 0) as { detail: string }[][]) {
        expect(plan[0]!.detail).toBe(
          'SEARCH runs USING INDEX runs_ended_status (owner_hash=? AND status=? AND ended_at>? AND ended_at<?)',
        );
        expect(JSON.stringify(plan)).not.toContain('USE TEMP B-TREE FOR ORDER BY');
      }
      const inPostgres = await explained(postgres.db, 'explain (analyze, format json)', list);
      const pages = inPostgres.filter((_, index) => index % 2 === 0);
      for (const [row] of pages as { 'QUERY PLAN': [{ Plan: Plan }] }[][])
        expect(mostRowsOf(row!['QUERY PLAN'][0].Plan)).toBeLessThanOrEqual(20);
    }
  });

  it('the turn of a run is found by its run', async () => {
    const find = (db: Db) => readTurn(db, keyOf(OWNER, 's'), 'run-2000');
    const [inFile] = await explained(file, 'explain query plan', find);
    expect(inFile).toMatchObject([{ detail: 'SEARCH turns USING INDEX turns_run (run_id=?)' }]);
    const [inPostgres] = await explained(postgres.db, 'explain (analyze, format json)', find);
    const [row] = inPostgres as { 'QUERY PLAN': [{ Plan: Plan }] }[];
    expect(mostRowsOf(row!['QUERY PLAN'][0].Plan)).toBe(1);
  });

  it.each([
    ['a file', /SCAN runs USING INDEX runs_using/],
    ['Postgres', /"Index Name":"runs_using".*"Index Cond":"\(owner_hash = /],
  ])('what an owner has used is read from the runs whose usage is new, in %s', async (name, expected) => {
    const db = name === 'a file' ? file : postgres.db;
    const explain = name === 'a file' ? 'explain query plan' : 'explain (analyze, format json)';
    const plans = await explained(db, explain, (of) => readUsing(of, OWNER));
    expect(JSON.stringify(plans)).toMatch(expected);
  });

  it.each(['a file', 'Postgres'])(
    'an admission reads counts, and no waiting runs of others, in %s',
    async (name) => {
      const db = name === 'a file' ? file : postgres.db;
      const all = Array.from({ length: 100 }, (_, index) => `run-${index + 1}`);
      const owner = ownerRefOf(OWNER, '');
      const waitingIn = async (module: string) => (await readQueue(db, ownerRefOf(OWNER, module))).waiting;
      const counted = () => Promise.all([waitingIn(''), waitingIn('other')]);
      expect(await counted()).toEqual([0, 0]);
      await setStatus(db, 'waiting', ...all);
      expect(await counted()).toEqual([100, 0]);
      await setStatus(db, 'waiting', ...all);
      await setStatus(db, 'running', 'run-1', 'run-2');
      await db.deleteFrom('runs').where('id', '=', 'run-3').execute();
      expect(await counted()).toEqual([97, 0]);
      expect(await hasWaiting(db, owner, 97)).toBe(true);
      expect(await hasWaiting(db, owner, 98)).toBe(false);
      expect(await hasWaiting(db, ownerRefOf('bob', ''), 1)).toBe(false);
      expect(await hasWaiting(db, ownerRefOf('bob', ''), 0)).toBe(true);

      const explain = name === 'a file' ? 'explain query plan' : 'explain (analyze, format json)';
      const [queue, limited] = await explained(db, explain, async (of) => {
        await readQueue(of, owner);
        await hasWaiting(of, owner, 5);
      });
      if (name === 'a file') {
        expect(JSON.stringify(queue)).toMatch(
          /SEARCH waiting_counts USING .*module=.*INDEX runs_ready \(module=.*INDEX runs_active \(owner_key=/,
        );
        expect(limited).toMatchObject([
          { detail: expect.stringMatching(/USING INDEX runs_waiting .*owner_key=/) },
        ]);
      } else {
        for (const [row] of [queue, limited] as { 'QUERY PLAN': [{ Plan: Plan }] }[][]) {
          expect(mostRowsOf(row!['QUERY PLAN'][0].Plan)).toBeLessThanOrEqual(16);
        }
        expect(JSON.stringify(queue)).toContain('"Index Name":"runs_ready"');
      }
    },
  );
});
