import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { openDatabase } from '../../../test/support/postgres.js';
import { eventsOf } from '../../../packages/store-contract/src/opened-store.js';
import type { Driver } from '../drivers/driver.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { PostgresDriver } from '../drivers/postgres-driver.js';
import { SqlRunStore } from '../sql-run-store.js';
import { keyOf, ownerHashOf } from './keys.js';
import { migrate } from './migrate.js';

const TODAY = Math.floor(Date.now() / 86_400_000);
const ANN = `${ownerHashOf('ann')}, '"ann"'`;
const COLUMNS = `owner_hash, owner, session_key, session, day, model_key, model, runs, input_tokens, output_tokens,
  reasoning_tokens, cached_input_tokens, price`;
const ofTalk = `${ANN}, '${keyOf('ann', 'talk')}', '"talk"', ${TODAY}, '', null`;
const ofNone = `${ANN}, '', null, ${TODAY}, '', null`;
/** A database of the version before, with sums, and with usage that is not added up. */
const BEFORE = [
  `drop index runs_using`,
  `alter table runs drop column usage`,
  `drop table if exists journal`,
  `drop table if exists signal_channel`,
  `delete from migrations where name >= '0007'`,
  `drop index runs_ended_status`,
  `create table new_usage as select '' as writer, 0 as number, 0 as n, usage.* from usage where runs < 0`,
  `insert into usage (${COLUMNS}) values (${ANN}, '*', null, ${TODAY}, '', null, 1, 1, 10, 0, 0, 0)`,
  `insert into usage (${COLUMNS}) values (${ofTalk}, 1, 1, 10, 0, 0, 0)`,
  `insert into new_usage (writer, number, n, ${COLUMNS}) values ('w', 1, 0, ${ofTalk}, 1, 2, 20, 0, 0, 0)`,
  `insert into new_usage (writer, number, n, ${COLUMNS}) values ('w', 2, 0, ${ofTalk}, 0, 4, 40, 0, 0, 0)`,
  `insert into new_usage (writer, number, n, ${COLUMNS}) values ('w', 2, 1, ${ofNone}, 1, 8, 80, 0, 0, 5)`,
];

async function checkUsage(open: () => Promise<Driver>): Promise<void> {
  const before = await open();
  await before.transact(async (db) => {
    if (before.isShared) await sql`set local search_path to agent_query`.execute(db);
    for (const statement of BEFORE) await sql.raw(statement).execute(db);
  });
  await before.close();

  const store = new SqlRunStore(await open());
  await store.open(eventsOf());
  const page = { by: 'session', from: TODAY - 1, to: TODAY + 1, after: undefined, limit: 9 } as const;
  const { sums } = await store.usage.sums('ann', page);
  const shown = sums.map(({ of, runs, inputTokens, outputTokens, price }) => [
    of,
    runs,
    inputTokens,
    outputTokens,
    price,
  ]);
  expect(shown).toContainEqual(['talk', 2, 7, 70, 0]);
  expect(shown).toContainEqual([undefined, 1, 8, 80, 5]);
  expect(shown).toHaveLength(2);
  expect((await store.usage.sums('ann', { ...page, by: 'day' })).sums).toMatchObject([
    { runs: 3, inputTokens: 15, outputTokens: 150, price: 5 },
  ]);
  await store.close();
}

describe('A database of the version before', () => {
  it('keeps the usage that was not added up: a file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-migrated-'));
    await checkUsage(() => LibsqlDriver.open(join(directory, 'runs.db')));
    await rm(directory, { recursive: true });
  });

  it('keeps the usage that was not added up: Postgres', async () => {
    const server = await openDatabase();
    await checkUsage(() => PostgresDriver.open(new URL(server.url)));
    await server.close();
  });
});

describe('A database of this version', () => {
  /** How many statements find that out. */
  async function statementsOf({ db }: Driver, schema?: string): Promise<number> {
    let count = 0;
    const counted = db.withoutPlugins().withPlugin({
      transformQuery: ({ node }) => {
        count++;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    await migrate(counted as Kysely<never>, schema);
    return count;
  }

  // A database may have thousands of tables that belong to others.
  it('is found to be one by its migrations only: a file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-migrated-'));
    const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
    expect(await statementsOf(driver)).toBe(2);
    await driver.close();
    await rm(directory, { recursive: true });
  });

  it('is found to be one by its migrations only: Postgres', async () => {
    const server = await openDatabase();
    const driver = await PostgresDriver.open(new URL(server.url));
    expect(await statementsOf(driver, 'agent_query')).toBe(2);
    await driver.close();
    await server.close();
  });
});
