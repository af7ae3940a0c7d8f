import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { ask, get } from '../../test/support/client.js';
import { eventually } from '../../test/support/conditions.js';
import { ONE_ADAPTER, startHost } from '../../test/support/host.js';
import { admissionOf, eventsOf, keptAnswer } from '../../packages/store-contract/src/opened-store.js';
import { message, QueryModule, type QueryContext } from '../query/index.js';
import { PostgresStores } from '../../test/support/postgres-stores.js';
import type { Driver } from './drivers/driver.js';
import { LibsqlDriver } from './drivers/libsql-driver.js';
import { SqlRunStore } from './sql-run-store.js';

const DONE = '{"type":"done","data":{"status":"completed"}}';
const early = () => admissionOf({ mayStartEarly: true });

const postgres = new PostgresStores();
let directory: string;
let driver: Driver;
let store: SqlRunStore;

// Faults cause log messages for the operator, which these tests do not check.
beforeAll(() => {
  Logger.overrideLogger(false);
  return postgres.start();
});
afterAll(() => postgres.close());

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-early-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
  await postgres.reset();
});

async function openFile(): Promise<void> {
  driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  store = new SqlRunStore(driver);
}

/** Lets each transaction, and each row of the journal, pass through a step. */
function through(step: (commit: () => Promise<unknown>) => Promise<unknown>): void {
  const transact = driver.transactAtOnce.bind(driver);
  driver.transactAtOnce = (work) => step(() => transact(work)) as ReturnType<typeof transact<never>>;
  const { journal } = driver;
  const append = journal?.append.bind(journal);
  if (append) journal!.append = (row) => step(() => append(row)) as Promise<void>;
}

async function logOf(runId: string): Promise<string> {
  return (await store.read({ owner: 'anonymous', id: runId }, 0)).lines;
}

describe.each(['a file', 'Postgres'])('A store in %s', (kind) => {
  const isFile = kind === 'a file';
  beforeEach(async () => {
    if (!isFile) return void ({ store, driver } = await postgres.open());
    await openFile();
    await store.open(eventsOf());
  });
  afterEach(async () => {
    if (isFile) await store.close();
  });

  it('keeps a query, what its handler emits at once and its end in one commit', async () => {
    let commits = 0;
    through((transact) => (commits++, transact()));
    const { run, stored } = await store.admit(early());
    void store.append(run, '{"type":"message","data":{"content":"a"}}');
    const ended = store.end(run, { status: 'completed' }, keptAnswer());
    await stored;
    expect((await ended)!.run.status).toBe('completed');
    expect(commits).toBe(1);
    const kept = driver.db.selectFrom('runs').select(['id', 'status', 'last_seq']);
    expect(await kept.execute()).toEqual([{ id: run.id, status: 'completed', last_seq: 2 }]);
    expect(await logOf(run.id)).toBe(`{"type":"message","data":{"content":"a"}}\n${DONE}`);
  });

  it('refuses a query that it cannot keep, with all that its handler has emitted, and lets the other runs wait', async () => {
    const { run: other } = await store.admit(admissionOf());
    let isDown = true;
    through((transact) => (isDown ? Promise.reject(new Error('The disk failed.')) : transact()));
    const appended = store.append(other, '{"type":"message","data":{"content":"other"}}');
    const { run, stored } = await store.admit(early());
    void store.append(run, '{"type":"message","data":{"content":"lost"}}');
    await expect(stored).rejects.toMatchObject({ code: 'unavailable' });
    isDown = false;
    await appended;
    expect(await logOf(other.id)).toBe('{"type":"message","data":{"content":"other"}}');
    await eventually(async () => (await store.find('anonymous', run.id)) === undefined);
    const kept = driver.db.selectFrom('log').select(['run_id', 'envelopes']);
    await store.end(other, { status: 'completed' }, keptAnswer());
    expect((await kept.execute()).filter(({ run_id }) => run_id === run.id)).toEqual([]);
  });

  it('refuses a query, as soon as it knows of an outage, also behind a commit that waits for the end of that', async () => {
    const { run: other } = await store.admit(admissionOf());
    const disk = new EventEmitter();
    let isDown = true;
    let attempts = 0;
    through(async (transact) => {
      attempts++;
      if (!isDown) return transact();
      if (attempts === 1) await once(disk, 'failed');
      throw new Error('The disk failed.');
    });
    const appended = store.append(other, '{"type":"message","data":{"content":"other"}}');
    await eventually(() => attempts === 1);
    const { run, stored } = await store.admit(early());
    void Promise.resolve(store.append(run, '{"type":"message","data":{"content":"lost"}}')).catch(
      () => undefined,
    );
    disk.emit('failed');
    await expect(stored).rejects.toMatchObject({ code: 'unavailable' });
    isDown = false;
    await appended;
    expect(await logOf(other.id)).toBe('{"type":"message","data":{"content":"other"}}');
    await store.end(other, { status: 'completed' }, keptAnswer());
    expect(await driver.db.selectFrom('runs').select('id').execute()).toEqual([{ id: other.id }]);
  });

  it.each([
    ['', false],
    [' with its end', true],
  ])(
    'removes a query that it has refused, and has kept%s because the answer of the disk was lost',
    async (_, hasEnded) => {
      let isLost = true;
      through(async (transact) => {
        const answer = await transact();
        if (isLost) throw new Error('The answer was lost.');
        return answer;
      });
      const { run, stored } = await store.admit(early());
      void store.append(run, '{"type":"message","data":{"content":"a"}}');
      if (hasEnded) void store.end(run, { status: 'completed' }, keptAnswer()).catch(() => undefined);
      await expect(stored).rejects.toMatchObject({ code: 'unavailable' });
      isLost = false;
      for (const table of ['runs', 'log'] as const)
        await eventually(async () => (await driver.db.selectFrom(table).selectAll().execute()).length === 0);
      const isAdmitted = async () => (await (await store.admit(early())).stored, true);
      await eventually(() => isAdmitted().catch(() => false));
    },
  );

  it('keeps what the query has used that its handler emits at once, and the state of its handler', async () => {
    const { run, stored } = await store.admit(early());
    const tokens = { inputTokens: 3, outputTokens: 2, reasoningTokens: 0, cachedInputTokens: 0, price: 0 };
    void store.append(run, '{"type":"usage"}', { ...tokens, model: undefined });
    void store.saveCheckpoint(run, '{"step":1}');
    await stored;
    expect(await store.usage.spent('anonymous', 'month')).toEqual({ tokens: 5, price: 0 });
    const kept = driver.db.selectFrom('runs').select(['checkpoint', 'checkpoint_seq']);
    expect(await kept.execute()).toEqual([{ checkpoint: '{"step":1}', checkpoint_seq: 1 }]);
    await store.end(run, { status: 'completed' }, keptAnswer());
    expect(await store.usage.spent('anonymous', 'month')).toEqual({ tokens: 5, price: 0 });
  });

  it('keeps the file of an answer that is the first thing that a handler emits', async () => {
    const { run, stored } = await store.admit(early());
    const sha256 = createHash('sha256').update('a,b').digest('hex');
    const file = { type: 'file' as const, name: 'a.csv', mimeType: 'text/csv', size: 3, sha256 };
    await store.saveFile(run, file, new Blob(['a,b']));
    await stored;
    expect(await store.part('anonymous', run.id, sha256)).toEqual(file);
  });
});

it('A process whose lease has ended refuses the queries that it has begun, and keeps nothing of them', async () => {
  ({ store, driver } = await postgres.open());
  const { run: other } = await store.admit(admissionOf());
  await driver.db.deleteFrom('processes').execute();
  const { run, stored } = await store.admit(early());
  const appended = [run, other].map(async (it) =>
    store.append(it, '{"type":"message","data":{"content":"a"}}'),
  );
  await expect(stored).rejects.toMatchObject({ code: 'unavailable' });
  for (const it of appended) await expect(it).rejects.toMatchObject({ code: 'interrupted' });
  expect(await driver.db.selectFrom('runs').select('id').execute()).toEqual([{ id: other.id }]);
  expect(await driver.db.selectFrom('log').selectAll().execute()).toEqual([]);
});

it('A query that cannot be kept is refused, its handler is told to stop, and in a known outage no handler is called', async () => {
  const path = join(directory, 'runs.db');
  const contexts: QueryContext[] = [];
  async function* handler(_: unknown, context: QueryContext) {
    contexts.push(context);
    yield message('an answer');
    if (contexts.length === 1)
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  }
  await openFile();
  const host = await startHost(ONE_ADAPTER, QueryModule.forRoot({ handler, store }));
  let isDown = true;
  through((transact) => (isDown ? Promise.reject(new Error('The disk failed.')) : transact()));
  expect((await ask(host.url)).status).toBe(503);
  await eventually(() => contexts[0]!.signal.aborted);
  isDown = false;
  await rename(path, `${path}.away`);
  await expect(store.check()).rejects.toMatchObject({ code: 'unavailable' });
  expect((await ask(host.url)).status).toBe(503);
  expect(contexts).toHaveLength(1);
  await host.idle();
  await rename(`${path}.away`, path);
  await eventually(async () => (await ask(host.url)).status === 200);
  expect(JSON.parse(await (await get(host.url, '/query')).whole()).runs).toHaveLength(1);
  await host.close();
});
