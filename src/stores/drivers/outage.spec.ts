import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { sql } from 'kysely';
import pg from 'pg';
import { admissionOf } from '../../../test/contracts/run-store.contract.js';
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.js';
import { message, type QueryError, type RunStore } from '../../query/index.js';
import { LibsqlBackend } from './libsql-driver.js';
import { PostgresBackend } from './postgres-driver.js';
import { SqlRunStore } from '../runs/sql-run-store.js';

const DONE = '{"type":"done","data":{"status":"completed"}}';
const textOf = (content: string): string => JSON.stringify(message(content));

// What an operator would be told is no part of these tests.
beforeAll(() => {
  Logger.overrideLogger(false);
});

async function logOf(store: RunStore, owner: string, runId: string): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const { count, lines } = await store.read({ owner, id: runId }, texts.length);
    if (count === 0) return texts;
    texts.push(...lines.split('\n'));
  }
}

async function refusal(work: () => unknown): Promise<Partial<QueryError>> {
  try {
    await work();
    return {};
  } catch (error) {
    return error as QueryError;
  }
}

/** Asks until the store takes queries again. */
async function isBack(store: RunStore): Promise<void> {
  for (;;) {
    const { code } = await refusal(() => store.check());
    if (code === undefined) return;
    expect(code).toBe('unavailable');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Holds a store to its promises while its database is away and when it is back. */
async function heldThrough(store: SqlRunStore, goAway: () => Promise<void>, comeBack: () => Promise<void>) {
  const { run } = await store.admit(admissionOf());
  await store.start(run);
  await store.append(run, textOf('before'));

  await goAway();
  const large = 'x'.repeat(50_000);
  const appended = Array.from({ length: 20 }, async (_, i) => store.append(run, textOf(`${i}${large}`)));
  const finished = store.finish(run, { status: 'completed' }, '');
  const refused = await refusal(() => store.admit(admissionOf()));
  expect({ code: refused.code, extras: refused.extras }).toEqual({
    code: 'unavailable',
    extras: { retryAfter: 2 },
  });
  expect((await refusal(() => store.check())).code).toBe('unavailable');
  expect((await store.find(run.owner, run.id))!.lastSeq).toBe(1);

  await comeBack();
  await isBack(store);
  await Promise.all(appended);
  expect((await finished)!.run).toMatchObject({ status: 'completed', lastSeq: 22 });
  const log = [textOf('before'), ...appended.map((_, i) => textOf(`${i}${large}`)), DONE];
  expect(await logOf(store, run.owner, run.id)).toEqual(log);
  expect((await store.admit(admissionOf())).created).toBe(true);
}

it('A full disk holds up runs until there is room, and refuses queries meanwhile', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-full-'));
  const backend = await LibsqlBackend.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(backend);
  await store.recover(() => undefined);
  const pages = (count: number) => sql`pragma max_page_count = ${sql.lit(count)}`.execute(backend.db);
  const fill = async () => {
    // As many as it has already; what is free within those is used up first.
    await pages(1);
    for (;;) {
      const { code } = await refusal(() => store.admit(admissionOf({ parts: [] })));
      if (code === 'unavailable') break;
    }
  };
  await heldThrough(store, fill, async () => void (await pages(1_000_000)));
  await store.close();
  await rm(directory, { recursive: true });
});

describe('Postgres', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres([
      'max_connections = 12',
      'superuser_reserved_connections = 0',
      'max_wal_senders = 0',
    ]);
  }, 30_000);
  afterAll(() => server.close());

  const open = async (schema: string, leaseMs?: number) => {
    const backend = await PostgresBackend.open(new URL(server.url), { schema, poolSize: 3 });
    const store = new SqlRunStore(backend, { leaseMs });
    await store.recover(() => undefined);
    return { backend, store };
  };

  it('may be killed and started again in the middle of a run', async () => {
    const { store } = await open('killed');
    await heldThrough(
      store,
      () => server.kill(),
      () => server.start(),
    );
    await store.close();
  }, 30_000);

  it('may be out of connections for a while', async () => {
    const { backend, store } = await open('crowded');
    const others: pg.Client[] = [];
    const crowd = async () => {
      const mine = sql<{
        pid: number;
      }>`select pid from pg_stat_activity where application_name = 'nest-agent-query'`;
      for (;;) {
        const client = new pg.Client({ connectionString: server.url });
        client.on('error', () => undefined);
        try {
          await client.connect();
          others.push(client);
        } catch (error) {
          expect((error as { code: string }).code).toBe('53300');
          break;
        }
      }
      const { rows } = await mine.execute(backend.db);
      for (const { pid } of rows) await others[0]!.query('select pg_terminate_backend($1)', [pid]);
      // What the store had is taken too.
      for (let left = rows.length; left > 0;) {
        const client = new pg.Client({ connectionString: server.url });
        client.on('error', () => undefined);
        await client.connect().then(
          () => (others.push(client), left--),
          () => undefined,
        );
      }
    };
    await heldThrough(store, crowd, async () => {
      await Promise.all(others.map((client) => client.end()));
    });
    await store.close();
  }, 30_000);

  it('is brought to the newest version once by several processes that start together', async () => {
    const opened = await Promise.all(Array.from({ length: 3 }, () => open('together')));
    const [{ backend }] = opened as [(typeof opened)[0]];
    const { rows } = await sql<{ name: string }>`select name from together.migrations order by name`.execute(
      backend.db,
    );
    expect(rows.map(({ name }) => name)).toEqual(['0001_runs', '0002_files', '0003_lines']);
    for (const { store } of opened) await store.close();
  });

  it('lets nobody write who was taken for lost', async () => {
    const frozen = await open('frozen');
    const { run } = await frozen.store.admit(admissionOf());
    await frozen.store.start(run);
    await frozen.store.append(run, textOf('before'));
    const other = await open('frozen', 50);
    for (;;) {
      const found = await other.store.find(run.owner, run.id);
      if (found!.end) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await expect(frozen.store.append(run, textOf('late'))).rejects.toThrow('taken this one for lost');
    expect(await frozen.store.finish(run, { status: 'completed' }, '')).toBeUndefined();
    const [first, done, ...more] = await logOf(other.store, run.owner, run.id);
    expect([first, more]).toEqual([textOf('before'), []]);
    expect(JSON.parse(done!)).toMatchObject({ type: 'done', data: { error: { code: 'interrupted' } } });
    await frozen.store.close();
    await other.store.close();
  });

  it('has its line called up where another process has ended the run before', async () => {
    const [first, second] = [await open('line', 400), await open('line', 400)];
    const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
    const a = (await first.store.admit(admissionOf({ session }))).run;
    const taken: string[] = [];
    await second.store.close();
    const third = await PostgresBackend.open(new URL(server.url), { schema: 'line' });
    const store = new SqlRunStore(third, { leaseMs: 400 });
    await store.recover(({ run, isFirst }) => taken.push(`${run.id} ${isFirst}`));
    const b = (await store.admit(admissionOf({ session }))).run;
    expect(await first.store.finish(a, { status: 'completed' }, '')).toMatchObject({
      next: undefined,
    });
    while (taken.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(taken).toEqual([`${b.id} true`]);
    expect(await store.start(b)).toBe(true);
    await first.store.close();
    await store.close();
  });
});
