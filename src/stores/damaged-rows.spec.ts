import { jest } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { sql } from 'kysely';
import {
  admissionOf,
  eventsOf,
  eventually,
  keptAnswer,
} from '../../packages/store-contract/src/opened-store.js';
import { OneDatabase } from '../../test/support/one-database.js';
import { openDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { type Admission, message, type RunRecord } from '../query/index.js';
import type { Driver } from './drivers/driver.js';
import { LibsqlDriver } from './drivers/libsql-driver.js';
import { PostgresDriver } from './drivers/postgres-driver.js';
import { SqlRunStore } from './sql-run-store.js';

const SESSION = { id: 'talk', policy: 'enqueue' as const, maxWaiting: 9 };
const PAGE = { after: undefined, limit: 10 };
const INTERRUPTED = {
  status: 'failed',
  end: {
    status: 'failed',
    error: {
      code: 'interrupted',
      message: 'The service stopped before the run had ended. Send the query again.',
    },
  },
};

/** What is told once of a run is told once in this process. */
let runs = 0;
let open: () => Promise<Driver>;
const stores: SqlRunStore[] = [];
const recovered: string[] = [];
const errors: string[] = [];

beforeEach(() => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation((text: string) => void errors.push(text));
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  recovered.length = 0;
  errors.length = 0;
  jest.restoreAllMocks();
});

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-damaged-'));
});
afterAll(() => rm(directory, { recursive: true }));

const openFile = () => LibsqlDriver.open(join(directory, 'runs.db'));

let server: TestDatabase;
beforeAll(async () => {
  server = await openDatabase();
});
afterAll(() => server.close());

const openPostgres = () => PostgresDriver.open(new URL(server.url));

/** Opens the store of a process, which recovers what others have left. */
async function start(restarts = 0, leaseMs = 1_000): Promise<SqlRunStore> {
  const store = new SqlRunStore(await open(), { leaseMs });
  stores.push(store);
  await store.open(eventsOf({ restarts: () => restarts, recovered: (id) => recovered.push(id) }));
  return store;
}

/** Ends the process. Its runs that execute are orphaned. */
async function stop(): Promise<void> {
  await stores.pop()!.close();
}

async function damage(...statements: string[]): Promise<void> {
  const driver = await open();
  await driver.transact(async (db) => {
    if (driver.isShared) await sql`set local search_path to agent_query`.execute(db);
    for (const statement of statements) await sql.raw(statement).execute(db);
  });
  await driver.close();
}

async function execute(store: SqlRunStore, admission: Partial<Admission> = {}): Promise<RunRecord> {
  const { run } = await store.admit(admissionOf(admission));
  await store.append(run, JSON.stringify(message('before')));
  return run;
}

describe.each([
  ['a file', openFile],
  ['Postgres', openPostgres],
])('A run of which %s has a damaged row', (_name, openDriver) => {
  const database = new OneDatabase<Driver>(openDriver);
  beforeAll(() => {
    open = () => database.driver();
  });
  afterEach(() => database.empty());
  afterAll(() => database.close());

  it.each([
    ['its log', `update log set envelopes = '{"type":' where run_id = 'RUN'`],
    ['its query', `update runs set parts = '[{' where id = 'RUN'`],
    ['the name of its session', `update runs set session = 'talk' where id = 'RUN'`],
    ['its void envelopes', `update runs set void = '[[' where id = 'RUN'`],
  ])('ends as interrupted, is told once, and the others go on: %s', async (_what, statement) => {
    const damaged = `damaged-${++runs}`;
    const before = await start();
    await execute(before, { runId: damaged, session: SESSION });
    await execute(before, { runId: 'next', session: SESSION });
    await execute(before, { runId: 'other' });
    // A file has the envelopes in its journal until then.
    await before.sweep();
    await stop();
    await damage(statement.replace('RUN', damaged));

    const store = await start();
    expect(await store.find('anonymous', damaged)).toMatchObject(INTERRUPTED);
    expect(await store.find('anonymous', 'other')).toMatchObject(INTERRUPTED);
    expect(recovered.toSorted()).toEqual([damaged, 'other']);
    const [next] = await store.take(10);
    expect(next).toMatchObject({ id: 'next', status: 'running' });
    await store.end(next!, { status: 'completed' }, keptAnswer('Hello'));
    const { turns } = (await store.turns('anonymous', 'talk', { after: 0, limit: 10 }))!;
    expect(turns.at(-1)).toMatchObject({ runId: 'next', text: 'Hello' });
    expect((await store.runs('anonymous', PAGE)).runs).toHaveLength(3);
    expect(errors.filter((text) => text.includes(damaged))).toHaveLength(1);

    await stop();
    recovered.length = 0;
    await start();
    expect(recovered).toEqual([]);
  });

  it('lets the next run of its session start when it has ended, whatever its name reads', async () => {
    const before = await start();
    await execute(before, { runId: 'first', session: SESSION });
    await execute(before, { runId: 'damaged', session: SESSION });
    await execute(before, { runId: 'next', session: SESSION });
    await stop();
    await damage(`update runs set session = '"ta' where id = 'damaged'`);

    const store = await start();
    for (const id of ['damaged', 'next']) {
      const [run] = await store.take(10);
      expect(run).toMatchObject({ id });
      await store.append(run!, JSON.stringify(message('again')));
      await store.end(run!, { status: 'completed' }, keptAnswer());
    }
  });

  it('has used nothing, if that is what is damaged, and what the others have used counts', async () => {
    const before = await start();
    const used = { outputTokens: 0, reasoningTokens: 0, cachedInputTokens: 0, price: 0, model: 'm' };
    for (const [runId, inputTokens] of [
      ['damaged', 1],
      ['other', 2],
    ] as const) {
      const run = await execute(before, { runId });
      await before.append(run, '{"type":"usage"}', { inputTokens, ...used });
      await before.end(run, { status: 'completed' }, keptAnswer());
    }
    await stop();
    await damage(`update runs set usage = '[{"day":1' where id = 'damaged'`);

    const store = await start();
    const today = Math.floor(Date.now() / 86_400_000);
    for (let i = 0; i < 2; i++) {
      const page = { by: 'model', from: today - 1, to: today, ...PAGE } as const;
      expect((await store.usage.sums('anonymous', page)).sums).toMatchObject([{ of: 'm', inputTokens: 2 }]);
      expect(await store.usage.spent('anonymous', 'month')).toEqual({ tokens: 2, price: 0 });
      await store.sweep();
    }
  });

  it('is given back, if it has another attempt, as far as it can be read', async () => {
    const before = await start();
    await execute(before, { runId: 'damaged' });
    await execute(before, { runId: 'other' });
    await stop();
    await damage(`update runs set void = '[[' where id = 'damaged'`);

    const store = await start(1);
    expect(await store.find('anonymous', 'damaged')).toMatchObject(INTERRUPTED);
    expect((await store.take(10)).map(({ id }) => id)).toEqual(['other']);
  });

  it('ends also if the database does not say whose it is', async () => {
    const before = await start();
    await execute(before, { runId: 'damaged' });
    await before.admit(admissionOf({ runId: 'waiting', mayStart: false }));
    await execute(before, { runId: 'other' });
    await stop();
    await damage(`update runs set owner = '"ann' where id in ('damaged', 'waiting')`);

    const store = await start();
    expect(recovered.toSorted()).toEqual(['damaged', 'other']);
    const [waiting] = await store.take(10);
    expect(waiting).toMatchObject({ id: 'waiting', owner: '' });
    expect(await store.end(waiting!, { status: 'completed' }, keptAnswer())).toBeDefined();
  });

  it('ends when what it asks has expired and cannot be read, and the others go on', async () => {
    // It looks for what has expired after a quarter of the lease: never.
    const before = await start(0, 600_000);
    const request = {
      id: 'a',
      kind: 'auth' as const,
      message: '',
      expiresInMs: 1,
      onExpire: 'decline' as const,
    };
    for (const runId of ['damaged', 'other']) {
      const run = await execute(before, { runId });
      await before.inputs.ask(run, { requests: [request], state: '1', survives: true, maxAsking: 9 });
    }
    await stop();
    await damage(`update requests set request = '{"id":' where run_id = 'damaged'`);

    const store = await start();
    await eventually(async () => (await store.find('anonymous', 'damaged'))?.status === 'failed');
    expect(await store.find('anonymous', 'damaged')).toMatchObject({
      end: { error: { code: 'input_expired' } },
    });
    await eventually(async () => (await store.find('anonymous', 'other'))?.status === 'waiting');
    expect(await store.inputs.countOpen()).toBe(0);
  });

  it('keeps the other turns of its session, and the other sessions, readable', async () => {
    const store = await start();
    for (const runId of ['first', 'damaged', 'last']) {
      const run = await execute(store, { runId, session: SESSION });
      await store.end(run, { status: 'completed' }, keptAnswer(runId));
    }
    const run = await execute(store, { runId: 'other', session: { ...SESSION, id: 'other' } });
    await store.end(run, { status: 'completed' }, keptAnswer());
    await stop();
    await damage(
      `update turns set turn = '{"parts":[' where run_id = 'damaged'`,
      `update sessions set title = '"Tal' where id = '"talk"'`,
    );

    const again = await start();
    const { turns } = (await again.turns('anonymous', 'talk', { after: 0, limit: 10 }))!;
    expect(turns.map(({ runId }) => runId)).toEqual(['first', 'last']);
    expect((await again.sessions('anonymous', PAGE)).sessions.map(({ id }) => id)).toEqual(['other', 'talk']);
  });
});

describe('A run that Postgres cannot change, because its data is damaged', () => {
  beforeAll(() => {
    open = openPostgres;
  });

  it('is told once, and the others go on', async () => {
    const before = await start();
    await Promise.all(Array.from({ length: 120 }, (_, i) => execute(before, { runId: `damaged-${i}` })));
    await execute(before, { runId: 'other' });
    await stop();
    await damage(
      `create function refuse() returns trigger language plpgsql as
         $$ begin raise exception 'missing chunk number 0' using errcode = 'data_corrupted'; end $$`,
      `create trigger refuse before update on runs for each row
         when (old.id like 'damaged%') execute function refuse()`,
    );

    const store = await start();
    expect(await store.find('anonymous', 'other')).toMatchObject(INTERRUPTED);
    const second = await start();
    expect((await second.admit(admissionOf())).run.status).toBe('running');
    expect(errors.filter((text) => text.startsWith('Run damaged-7 '))).toHaveLength(4);
    await damage('drop trigger refuse on runs');
  });
});
