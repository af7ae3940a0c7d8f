import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  admissionOf,
  eventsOf,
  keptAnswer,
  readAll,
} from '../../../packages/store-contract/src/opened-store.js';
import { message } from '../../query/index.js';
import { Database } from '../drivers/database.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { totalOf } from '../drivers/totals.js';
import { REMOVED } from './erasure.js';
import type { StoredRetention } from './retention-options.js';
import { SqlRunStore } from '../sql-run-store.js';

const HOUR = 60 * 60_000;
const OWNER = 'anonymous';
const COMPLETED = { status: 'completed' } as const;

describe('the retention of a file', () => {
  let directory: string;
  let driver: LibsqlDriver;
  let store: SqlRunStore;
  let passed: number;

  const open = async (retention: Partial<StoredRetention>) => {
    driver = await LibsqlDriver.open(join(directory, 'runs.db'));
    const now = driver.now.bind(driver);
    driver.now = async () => (await now()) + passed;
    store = new SqlRunStore(driver, { retention });
    await store.open(eventsOf());
  };
  beforeEach(async () => {
    passed = 0;
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-removal-'));
  });
  afterEach(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });

  /** Counts the rows of a table after each transaction. */
  const countAfterEach = (table: 'log' | 'runs' | 'turns') => {
    const counts: number[] = [];
    const transact = driver.transact.bind(driver);
    driver.transact = async (work) => {
      const result = await transact(work);
      counts.push(await countOf(table));
      return result;
    };
    return counts;
  };
  const countOf = async (table: 'log' | 'runs' | 'turns' | 'sessions') => {
    const count = driver.db.selectFrom(table).select((of) => of.fn.countAll<number>().as('rows'));
    return (await count.executeTakeFirstOrThrow()).rows;
  };
  /** The most rows that one of several transactions has removed. */
  const largestStep = (before: number, counts: number[]) => {
    const removed = counts.map((count, index) => (counts[index - 1] ?? before) - count);
    expect(removed.filter((rows) => rows > 0).length).toBeGreaterThan(1);
    return Math.max(...removed);
  };

  const endRun = async (sessionId?: string, text = '') => {
    const session =
      sessionId === undefined ? undefined : { id: sessionId, policy: 'enqueue' as const, maxWaiting: 9 };
    const { run } = await store.admit(admissionOf({ session }));
    await store.end(run, COMPLETED, keptAnswer(text));
    return run;
  };

  it('A log of many small segments is removed with several transactions of limited size', async () => {
    await open({ runMs: HOUR });
    const { run } = await store.admit(admissionOf());
    for (let i = 0; i < 250; i++) {
      void store.append(run, JSON.stringify(message('x')));
      await store.saveCheckpoint(run, `${i}`);
    }
    await store.end(run, COMPLETED, keptAnswer());
    expect(await countOf('log')).toBeGreaterThanOrEqual(250);

    passed = 2 * HOUR;
    const before = await countOf('log');
    const steps = countAfterEach('log');
    await store.sweep();
    expect(await countOf('log')).toBe(0);
    expect(await countOf('runs')).toBe(0);
    expect(largestStep(before, steps)).toBeLessThanOrEqual(REMOVED.segments);
  });

  it('A log of large segments is removed with transactions of limited length', async () => {
    await open({ runMs: HOUR });
    const { run } = await store.admit(admissionOf());
    for (let i = 0; i < 12; i++) await store.append(run, JSON.stringify(message('x'.repeat(100_000))));
    await store.end(run, COMPLETED, keptAnswer());

    passed = 2 * HOUR;
    const before = await countOf('log');
    const steps = countAfterEach('log');
    await store.sweep();
    expect(await countOf('log')).toBe(0);
    expect(largestStep(before, steps)).toBeLessThanOrEqual(Math.ceil(REMOVED.length / 100_000));
  });

  it('A log is trimmed with several transactions, and keeps its end without a gap', async () => {
    await open({ totalLength: 100_000 });
    const { run } = await store.admit(admissionOf());
    const text = JSON.stringify(message('x'.repeat(1_000)));
    for (let i = 0; i < 400; i++) await store.append(run, text);
    const before = await countOf('log');
    const steps = countAfterEach('log');
    await store.sweep();
    expect(largestStep(before, steps)).toBeLessThanOrEqual(REMOVED.segments);
    const kept = await countOf('log');
    expect(kept).toBeLessThan(120);
    expect(await readAll(store, run, 400 - 64)).toEqual(Array(64).fill(text));
  });

  it('Runs are removed with transactions of limited size, but none that has not ended', async () => {
    const ended = REMOVED.runs * 3;
    await open({ totalLength: 0 });
    for (let i = 0; i < ended; i++) await endRun();
    const { run } = await store.admit(admissionOf());
    const steps = countAfterEach('runs');
    await store.sweep();
    expect(await countOf('runs')).toBe(1);
    expect(await store.find(run.owner, run.id)).toMatchObject({ status: 'running' });
    expect(largestStep(ended + 1, steps)).toBeLessThanOrEqual(REMOVED.runs);
  });

  it('A long session is removed with transactions of limited size', async () => {
    await open({ sessionMs: HOUR });
    const turns = REMOVED.turns * 2;
    for (let i = 0; i < turns; i++) await endRun('long', 'x'.repeat(2_000));
    await endRun('short');

    passed = HOUR / 2;
    await store.sweep();
    expect(await countOf('turns')).toBe(turns + 1);
    passed = 2 * HOUR;
    const steps = countAfterEach('turns');
    await store.sweep();
    expect(await countOf('turns')).toBe(0);
    expect(await countOf('sessions')).toBe(0);
    expect(await countOf('runs')).toBe(0);
    expect(largestStep(turns + 1, steps)).toBeLessThanOrEqual(REMOVED.turns);
  });

  it('Two sweeps at the same time drop no more than one', async () => {
    await open({ totalLength: 0 });
    await endRun();
    let sweeps = 0;
    const now = driver.now.bind(driver);
    driver.now = () => {
      sweeps++;
      return now();
    };
    await Promise.all([store.sweep(), store.sweep()]);
    expect(sweeps).toBe(1);
    await store.sweep();
    expect(sweeps).toBe(2);
  });

  it.each([1, 2, 3, 7, 100])('A total over pages of %d rows has each row once', async (page) => {
    await open({});
    const at = [0, 5, 5, 5, 6, 7, 7, 9, 9, 9];
    const sessions = at.map((time, i) => ({
      key: `s${i}`,
      queue_positions: 1,
      turns: 1,
      owner: '"ann"',
      owner_hash: 1,
      id: '"s"',
      length: 2 ** i,
      used_at: time,
    }));
    const database = new Database(driver);
    expect(await totalOf(database, 'sessions', page)).toBe(0);
    await driver.db.insertInto('sessions').values(sessions).execute();
    expect(await totalOf(database, 'sessions', page)).toBe(2 ** at.length - 1);
  });

  it('A run that has not ended counts for no total', async () => {
    await open({});
    await store.admit(admissionOf());
    const { id } = await endRun();
    const { log_length: length } = await driver.db
      .selectFrom('runs')
      .select('log_length')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(length).toBeGreaterThan(0);
    expect(await totalOf(new Database(driver), 'runs')).toBe(length);
    expect((await store.find(OWNER, id))?.endedAt).toBeDefined();
  });
});
