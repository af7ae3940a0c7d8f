import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../test/support/conditions.js';
import { IS_LONG } from '../../../test/support/long-form.js';
import { PostgresStores } from '../../../test/support/postgres-stores.js';
import { dayOf } from '../../query/index.js';
import {
  admissionOf,
  eventsOf,
  inSession,
  keptAnswer,
} from '../../../packages/store-contract/src/opened-store.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { SqlRunStore } from '../sql-run-store.js';
import { selectUsing } from '../rows/usage-rows.js';

const OWNERS = 8;
const USED = {
  model: 'm',
  inputTokens: 3,
  outputTokens: 2,
  reasoningTokens: 0,
  cachedInputTokens: 0,
  price: 0,
};

/** The sweeps in the contract of stores have the statements of both. What counts the runs is the same code. */
const KINDS = IS_LONG ? ['a file', 'Postgres'] : ['a file'];

describe.each(KINDS)('A store in %s', (kind) => {
  const postgres = new PostgresStores();
  let directory: string;
  beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-sums-'))));
  afterEach(() => rm(directory, { recursive: true }));

  if (kind === 'Postgres') {
    beforeAll(() => postgres.start());
    afterEach(() => postgres.reset());
    afterAll(() => postgres.close());
  }

  async function open() {
    if (kind === 'Postgres') return postgres.open();
    const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
    const store = new SqlRunStore(driver);
    await store.open(eventsOf());
    return { store, driver };
  }

  /** Ends runs that have used something, some with a session, a hundred at once. */
  async function endRuns(store: SqlRunStore, from: number, to: number) {
    for (let at = from; at < to; at += 100)
      await Promise.all(
        Array.from({ length: Math.min(100, to - at) }, async (_, index) => {
          const id = String(at + index);
          const session = index % 50 === 0 ? inSession(id) : undefined;
          const admission = admissionOf({ owner: `owner ${index % OWNERS}`, session });
          const { run } = await store.admit(admission);
          void store.append(run, '{"type":"usage"}', USED);
          await store.end(run, { status: 'completed' }, keptAnswer());
        }),
      );
  }

  it('adds up what runs have used after 2,000 of them, without a sweep', async () => {
    const { store, driver } = await open();
    const fresh = async () => (await selectUsing(driver.db).select('id').execute()).length;
    await endRuns(store, 0, 1_999);
    expect(await fresh()).toBe(1_999);
    await endRuns(store, 1_999, 2_000);
    await eventually(async () => (await fresh()) === 0);

    await endRuns(store, 2_000, 2_008);
    expect(await fresh()).toBe(8);
    const today = dayOf(Date.now());
    const page = { by: 'model', from: today - 1, to: today + 1, after: undefined, limit: 9 } as const;
    let runs = 0;
    for (let owner = 0; owner < OWNERS; owner++) {
      const { sums } = await store.usage.sums(`owner ${owner}`, page);
      const [sum] = sums;
      runs += sum!.runs;
      expect(sum).toMatchObject({ inputTokens: 3 * sum!.runs, outputTokens: 2 * sum!.runs });
    }
    expect(runs).toBe(2_008);
    await store.close();
  });
});
