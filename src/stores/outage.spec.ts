import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { sql } from 'kysely';
import pg from 'pg';
import { admissionOf, eventsOf, keptAnswer } from '../../packages/store-contract/src/opened-store.js';
import { eventually } from '../../test/support/conditions.js';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.js';
import { message, type QueryError, type RunRecord, type RunStore } from '../query/index.js';
import type { Driver } from './drivers/driver.js';
import { LibsqlDriver } from './drivers/libsql-driver.js';
import { PostgresDriver } from './drivers/postgres-driver.js';
import type { Db } from './schema/tables.js';
import { SqlRunStore } from './sql-run-store.js';

const DONE = '{"type":"done","data":{"status":"completed"}}';
const textOf = (content: string): string => JSON.stringify(message(content));

// These tests cause log messages for the operator, which they do not check.
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

/** Waits until the store admits queries again. */
async function untilAvailable(store: RunStore): Promise<void> {
  for (;;) {
    const { code } = await refusal(() => store.check());
    if (code === undefined) return;
    expect(code).toBe('unavailable');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Checks what a store promises for the time of an outage, and after it. */
async function checkOutage(store: SqlRunStore, begin: () => Promise<void>, end: () => Promise<void>) {
  const { run } = await store.admit(admissionOf());
  await store.append(run, textOf('before'));

  await begin();
  const large = 'x'.repeat(50_000);
  const appended = Array.from({ length: 20 }, async (_, i) => store.append(run, textOf(`${i}${large}`)));
  const finished = store.end(run, { status: 'completed' }, keptAnswer());
  const refused = await refusal(() => store.admit(admissionOf()));
  expect({ code: refused.code, extras: refused.extras }).toEqual({
    code: 'unavailable',
    extras: { retryAfter: 2 },
  });
  expect((await refusal(() => store.check())).code).toBe('unavailable');
  expect((await store.find(run.owner, run.id))!.lastSeq).toBe(1);
  const newestTurns = store.turns(run.owner, 'no session', { after: undefined, limit: 9 });

  await end();
  await untilAvailable(store);
  await Promise.all(appended);
  expect(await newestTurns).toBeUndefined();
  expect((await finished)!.run).toMatchObject({ status: 'completed', lastSeq: 22 });
  const log = [textOf('before'), ...appended.map((_, i) => textOf(`${i}${large}`)), DONE];
  expect(await logOf(store, run.owner, run.id)).toEqual(log);
  expect((await store.admit(admissionOf())).created).toBe(true);
}

it('On a full disk, runs wait until there is space again, and queries are refused', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-full-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  const pages = (count: number) => sql`pragma max_page_count = ${sql.lit(count)}`.execute(driver.db);
  const fill = async () => {
    // SQLite raises this limit to the present number of pages. Free space within these pages is used up below.
    await pages(1);
    for (;;) {
      const { code } = await refusal(() => store.admit(admissionOf({ parts: [] })));
      if (code === 'unavailable') break;
    }
  };
  await checkOutage(store, fill, async () => void (await pages(1_000_000)));
  await store.close();
  await rm(directory, { recursive: true });
});

/** Collects what the operator reads about the database, during some work. `later` lets the next probe be due. */
async function watched(work: (said: string[], later: () => void) => Promise<void>): Promise<void> {
  const said: string[] = [];
  const spies = (['log', 'error'] as const).map((level) =>
    jest.spyOn(Logger.prototype, level).mockImplementation((sentence: string) => void said.push(sentence)),
  );
  const now = Date.now.bind(Date);
  let passed = 0;
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + passed);
  await work(said, () => void (passed += 2_000));
  for (const spy of [...spies, clock]) spy.mockRestore();
}

it('On a full disk, a small write that finds space does not make the service ready, and reads are answered', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-full-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  const pages = (count: number) => sql`pragma max_page_count = ${sql.lit(count)}`.execute(driver.db);
  await store.admit(admissionOf());
  await pages(1);
  await watched(async (said, later) => {
    const parts = [{ type: 'text' as const, text: 'x'.repeat(100_000) }];
    while ((await refusal(() => store.admit(admissionOf({ parts })))).code !== 'unavailable');
    for (let i = 0; i < 3; i++) {
      later();
      expect((await store.runs('anonymous', { after: undefined, limit: 1 })).runs).toHaveLength(1);
      expect((await refusal(() => store.check())).code).toBe('unavailable');
      later();
      expect((await refusal(() => store.admit(admissionOf({ parts: [] })))).code).toBe('unavailable');
    }
    expect(said).toEqual([expect.stringContaining('cannot be used: the disk is full.')]);
    await pages(1_000_000);
    later();
    await store.check();
    expect((await store.admit(admissionOf({ parts }))).created).toBe(true);
    expect(said.slice(1)).toEqual([expect.stringContaining('can be used again')]);
  });
  await store.close();
  await rm(directory, { recursive: true });
});

it('While another file or none has the path of its file, the store refuses queries, and runs wait', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-replaced-'));
  const path = join(directory, 'runs.db');
  const store = new SqlRunStore(await LibsqlDriver.open(path));
  await store.open(eventsOf());
  const { run } = await store.admit(admissionOf());
  await watched(async (said, later) => {
    await rename(path, `${path}.away`);
    const appended = store.append(run, textOf('while it is away'));
    expect((await refusal(() => store.admit(admissionOf()))).code).toBe('unavailable');
    await writeFile(path, '');
    for (const work of [() => store.check(), () => store.admit(admissionOf()), () => store.find('a', 'b')]) {
      later();
      expect((await refusal(work)).code).toBe('unavailable');
    }
    expect(said).toEqual([expect.stringContaining('cannot be used: the file was deleted or replaced.')]);
    await rename(`${path}.away`, path);
    later();
    await store.check();
    await appended;
    expect(await logOf(store, run.owner, run.id)).toEqual([textOf('while it is away')]);
  });
  await rm(path);
  await store.close();
  await rm(directory, { recursive: true });
});

it('A run whose end cannot be stored is stored as failed, so that its session continues', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-end-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
  const { run } = await store.admit(admissionOf({ session }));
  const next = (await store.admit(admissionOf({ session }))).run;
  const faults = [
    Object.assign(new Error('NOT NULL constraint failed'), { code: 'SQLITE_CONSTRAINT_NOTNULL' }),
    Object.assign(new Error('too big'), { code: 'SQLITE_TOOBIG' }),
  ];
  const transact = driver.transact.bind(driver);
  driver.transact = (work) => {
    const fault = faults.shift();
    return fault ? Promise.reject(fault) : transact(work);
  };
  const finished = await store.end(run, { status: 'completed' }, keptAnswer('text'));
  expect(finished).toMatchObject({
    run: { status: 'failed', end: { error: { code: 'internal' } } },
    next: { id: next.id },
  });
  expect(await store.find(run.owner, run.id)).toMatchObject({ status: 'failed' });
  await store.close();
  await rm(directory, { recursive: true });
});

it('A repeated query does not find a run whose admission is undone, because the answer of the database was lost', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-undone-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  const repeated = () => admissionOf({ idempotency: { key: 'k', digest: 'd' } });
  const transact = driver.transact.bind(driver);
  const lose: Driver['transact'] = async (work) => {
    await transact(work);
    throw new Error('Connection terminated unexpectedly');
  };
  const refuse: Driver['transact'] = () => Promise.reject(new Error('Connection refused'));
  let step = lose;
  driver.transact = (work) => step(work);
  const lost = repeated();
  const first = refusal(() => store.admit(lost));
  // What undoes the first admission is refused; the repeated query is not.
  step = refuse;
  expect((await first).code).toBe('unavailable');
  step = transact;
  const second = refusal(() => store.admit(repeated()));
  step = refuse;
  expect((await second).code).toBe('unavailable');
  step = transact;
  await untilAvailable(store);
  while ((await refusal(() => store.admit(repeated()))).code === 'unavailable');
  expect(await store.find(lost.owner, lost.runId)).toBeUndefined();
  await store.close();
  await rm(directory, { recursive: true });
});

it('A run that has replaced turns ends as interrupted in their place when the answer of the database was lost', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-replaced-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
  const { run } = await store.admit(admissionOf({ session }));
  await store.end(run, { status: 'completed' }, keptAnswer('text'));
  for (const mayStart of [true, false]) {
    const transact = driver.transact.bind(driver);
    driver.transact = async (work) => {
      driver.transact = transact;
      await transact(work);
      throw new Error('Connection terminated unexpectedly');
    };
    const again = () =>
      admissionOf({
        mayStart,
        session: { ...session, afterTurn: 0 },
        idempotency: { key: `${mayStart}`, digest: 'd' },
      });
    const lost = again();
    expect((await refusal(() => store.admit(lost))).code).toBe('unavailable');
    await untilAvailable(store);
    await eventually(async () => (await store.queue('anonymous', 's')).length === 0);
    const page = await store.turns('anonymous', 's', { after: 0, limit: 9 });
    expect(page!.turns).toMatchObject([
      { runId: lost.runId, end: { status: 'failed', error: { code: 'interrupted' } } },
    ]);
    // Its caller sends the query again.
    const repeated = await store.admit(again());
    expect(repeated).toMatchObject({ created: true });
    await store.end(repeated.run, { status: 'completed' }, keptAnswer('again'));
    expect((await store.turns('anonymous', 's', { after: 0, limit: 9 }))!.total).toBe(1);
  }
  await store.close();
  await rm(directory, { recursive: true });
});

it('Runs of a file that were started, but whose start was not reported, wait again when the database can be used', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-started-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver, { leaseMs: 40 });
  let offers = 0;
  await store.open(eventsOf({ ready: () => offers++ }));
  const { run } = await store.admit(admissionOf({ mayStart: false }));
  const write = driver.transactAtOnce.bind(driver);
  driver.transactAtOnce = async (work) => {
    driver.transactAtOnce = write;
    await write(work);
    throw new Error('Connection terminated unexpectedly');
  };
  expect((await refusal(() => store.take(1))).code).toBe('unavailable');
  // The service tries again when it is told.
  let [seen, taken] = [offers, [] as string[]];
  await eventually(async () => {
    if (offers > seen) taken = (await store.take(1)).map(({ id }) => id);
    seen = offers;
    return taken.length > 0;
  });
  expect(taken).toEqual([run.id]);
  expect(await store.find(run.owner, run.id)).toMatchObject({ status: 'running', attempt: 1, lastSeq: 0 });
  await store.close();
  await rm(directory, { recursive: true });
});

it('A session that was erased stays erased when the answer of the database was lost', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-erased-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
  const { run } = await store.admit(admissionOf({ session }));
  await store.end(run, { status: 'completed' }, keptAnswer('text'));
  const transact = driver.transact.bind(driver);
  driver.transact = async (work) => {
    await transact(work);
    driver.transact = transact;
    throw new Error('Connection terminated unexpectedly');
  };
  expect((await refusal(() => store.erase(run.owner, 's'))).code).toBe('unavailable');
  expect(await store.find(run.owner, run.id)).toBeUndefined();
  expect(await store.erase(run.owner, 's')).toBe(false);
  await store.close();
  await rm(directory, { recursive: true });
});

/** Lets runs use tokens while every second answer of the database is lost, of commits and of sweeps. */
async function checkLostAnswers({ driver, store }: { driver: Driver; store: SqlRunStore }): Promise<void> {
  const runs = [];
  for (let i = 0; i < 5; i++) runs.push((await store.admit(admissionOf())).run);
  const [run] = runs as [RunRecord];
  let isLosing = true;
  let answers = 0;
  for (const name of ['transactAtOnce', 'transact'] as const) {
    const transact = driver[name].bind(driver);
    driver[name] = async (work) => {
      const answer = await transact(work);
      if (isLosing && ++answers % 2 === 1) throw new Error('Connection terminated unexpectedly');
      return answer;
    };
  }
  for (const [index, another] of runs.entries()) {
    for (const [inputTokens, using] of [
      [1, run],
      [100, another],
    ] as const) {
      const tokens = { inputTokens, outputTokens: 0, reasoningTokens: 0, cachedInputTokens: 0, price: 0 };
      await store.append(using, '{"type":"usage"}', { model: undefined, ...tokens });
    }
    if (index > 0) await store.end(another, { status: 'completed' }, keptAnswer());
    await store.sweep().catch(() => undefined);
  }
  isLosing = false;
  await untilAvailable(store);
  const page = { by: 'day', from: 0, to: 1e6, after: undefined, limit: 9 } as const;
  expect((await store.usage.sums(run.owner, page)).sums).toMatchObject([{ runs: 5, inputTokens: 505 }]);
  expect(answers).toBeGreaterThanOrEqual(8);
  await store.close();
}

it('Usage of a file counts once when answers of the database were lost', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-counted-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  await checkLostAnswers({ driver, store });
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
  });
  afterAll(() => server.close());

  const open = async (schema: string) => {
    const driver = await PostgresDriver.open(new URL(server.url), { schema, poolSize: 3 });
    const store = new SqlRunStore(driver);
    await store.open(eventsOf());
    return { driver, store };
  };

  it('may lose answers: usage counts once', async () => {
    await checkLostAnswers(await open('counted'));
  });

  it('can be killed and started again during a run', async () => {
    const { store } = await open('killed');
    await checkOutage(
      store,
      () => server.kill(),
      () => server.start(),
    );
    await store.close();
  });

  it.each([
    [
      'be read-only (25006)',
      'alter system set default_transaction_read_only = on',
      'alter system reset default_transaction_read_only',
    ],
    [
      'lose its tables (3F000)',
      'alter schema absent rename to elsewhere',
      'alter schema elsewhere rename to absent',
    ],
  ])(
    'can %s for a while',
    async (_, begin, end) => {
      const { store } = await open('absent');
      const admin = new pg.Client({ connectionString: server.url });
      await admin.connect();
      // The setting is read by each session of the server when it notices the signal.
      const execute = async (statement: string) => {
        await admin.query('set default_transaction_read_only = off');
        await admin.query(statement);
        await admin.query('select pg_reload_conf()');
      };
      const isReadOnly = async () => (await refusal(() => store.check())).code === 'unavailable';
      await checkOutage(
        store,
        async () => {
          await execute(begin);
          while (!(await isReadOnly())) await new Promise((resolve) => setTimeout(resolve, 10));
        },
        () => execute(end),
      );
      await admin.end();
      await store.close();
    },
    30_000,
  );

  it('can run out of connections for a while', async () => {
    const { driver, store } = await open('crowded');
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
      const { rows } = await mine.execute(driver.db);
      for (const { pid } of rows) await others[0]!.query('select pg_terminate_backend($1)', [pid]);
      // Take the connections that the store had, too.
      for (let left = rows.length; left > 0;) {
        const client = new pg.Client({ connectionString: server.url });
        client.on('error', () => undefined);
        await client.connect().then(
          () => (others.push(client), left--),
          () => undefined,
        );
      }
    };
    await checkOutage(store, crowd, async () => {
      await Promise.all(others.map((client) => client.end()));
    });
    await store.close();
  });

  it('may break a connection between two statements of a transaction', async () => {
    const { driver, store } = await open('broken');
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    const pidOf = async (db: Db) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
      return rows[0]!.pid;
    };
    const broken = driver.transact(async (db) => {
      const pid = await pidOf(db);
      await admin.query('select pg_terminate_backend($1)', [pid]);
      for (;;) {
        const { rowCount } = await admin.query('select 1 from pg_stat_activity where pid = $1', [pid]);
        if (rowCount === 0) return pidOf(db);
      }
    });
    const error: unknown = await broken.catch((thrown: unknown) => thrown);
    // It depends on whether the process has read of the end before it sends the statement.
    expect(driver.outageOf(error)).toMatch(
      /not queryable|Connection terminated|^the server cannot be reached \((EPIPE|ECONNRESET)\)$/,
    );
    await store.check();
    await admin.end();
    await store.close();
  });

  it('may be silent: a connection that does not answer in time is not used again', async () => {
    // Long enough for the statements of a migration on a busy machine.
    const times = { statementTimeoutMs: 3_000, connectTimeoutMs: 3_000 };
    const driver = await PostgresDriver.open(new URL(server.url), {
      schema: 'silent',
      poolSize: 1,
      ...times,
    });
    // So that only the client limits the time, as if the server did not answer.
    await sql`set statement_timeout = 0`.execute(driver.db);
    await expect(sql`select pg_sleep(60)`.execute(driver.db)).rejects.toThrow('Query read timeout');
    const { rows } = await sql<{ one: number }>`select 1 as one`.execute(driver.db);
    expect(rows).toEqual([{ one: 1 }]);
    await driver.close();
  });

  it('is migrated once by several processes that start at the same time', async () => {
    const opened = await Promise.all(Array.from({ length: 3 }, () => open('together')));
    const [{ driver }] = opened as [(typeof opened)[0]];
    const { rows } = await sql<{ name: string }>`select name from together.migrations order by name`.execute(
      driver.db,
    );
    const names = [
      '0001_tables',
      '0002_asking',
      '0003_metadata',
      '0004_usage',
      '0005_webhooks',
      '0006_uploads',
      '0007_usage_of_runs',
      '0008_journal',
      '0009_fewer_entries',
      '0010_signal_channel',
      '0011_usage_by_end',
      '0012_ended_runs',
    ];
    expect(rows).toEqual(names.map((name) => ({ name })));
    for (const { store } of opened) await store.close();
  });
});
