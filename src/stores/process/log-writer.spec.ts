import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresStores } from '../../../test/support/postgres-stores.js';
import { message, type RunRecord } from '../../query/index.js';
import { admissionOf, eventsOf, readAll } from '../../../packages/store-contract/src/opened-store.js';
import type { Driver } from '../drivers/driver.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { SqlRunStore } from '../sql-run-store.js';

const textOf = (content: string) => JSON.stringify(message(content));
const postgres = new PostgresStores();
let directory: string;

beforeAll(() => postgres.start());
afterAll(() => postgres.close());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-commits-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
  await postgres.reset();
});

describe.each(['a file', 'Postgres'])('The commits to %s', (kind) => {
  let driver: Driver;
  let store: SqlRunStore;
  let commits: number;

  beforeEach(async () => {
    if (kind === 'Postgres') ({ store, driver } = await postgres.open());
    else {
      driver = await LibsqlDriver.open(join(directory, 'runs.db'));
      store = new SqlRunStore(driver);
      await store.open(eventsOf());
    }
    const transact = driver.transactAtOnce.bind(driver);
    driver.transactAtOnce = (work) => (commits++, transact(work));
    const { journal } = driver;
    const append = journal?.append.bind(journal);
    if (append) journal!.append = (row) => (commits++, append(row));
  });
  afterEach(async () => {
    if (kind === 'a file') await store.close();
  });

  /** Appends to so many runs in one commit. Returns one of them. */
  async function appendToAll(count: number): Promise<RunRecord> {
    const admitting = Array.from({ length: count }, () => store.admit(admissionOf({ mayStartEarly: true })));
    const admitted = await Promise.all(admitting);
    for (const { stored } of admitted) await stored;
    await Promise.all(admitted.map(async ({ run }) => store.append(run, textOf('all'))));
    return admitted[0]!.run;
  }

  /** Appends two envelopes, the second one when the commit of the first may have begun. */
  async function appendTwo(run: RunRecord): Promise<void> {
    commits = 0;
    const first = store.append(run, textOf('first'));
    for (let tick = 0; tick < 3; tick++) await new Promise<void>((resolve) => process.nextTick(resolve));
    await Promise.all([first, store.append(run, textOf('second'))]);
  }

  it('begin at once with what comes behind a commit of few runs', async () => {
    const run = await appendToAll(100);
    await appendTwo(run);
    expect(commits).toBe(2);
    expect(await readAll(store, run)).toEqual(['all', 'first', 'second'].map(textOf));
  });

  it('wait for more of each run behind a commit of hundreds of runs', async () => {
    const run = await appendToAll(400);
    await appendTwo(run);
    expect(commits).toBe(1);
    expect(await readAll(store, run)).toEqual(['all', 'first', 'second'].map(textOf));
  });
});
