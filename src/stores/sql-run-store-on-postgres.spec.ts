import { Logger } from '@nestjs/common';
import { SHARE_OF_CASES } from '../../test/support/long-form.js';
import { OneDatabase } from '../../test/support/one-database.js';
import { openDatabase, type TestDatabase } from '../../test/support/postgres.js';
import type { StoreHost } from '../query/index.js';
import { describeRunStore } from 'nest-agent-query-store-contract';
import { PostgresDriver } from './drivers/postgres-driver.js';
import { SqlRunStore } from './sql-run-store.js';

let server: TestDatabase;
/** No other process ends this lease: it is only how often the store looks for requests that have expired. */
const LEASE_MS = 1_000;
/** How long an answer to a heartbeat may take: as long as with the default lease, because the machine may be busy. */
const ANSWER_MS = 2_000;
const database = new OneDatabase(async () => {
  const driver = await PostgresDriver.open(new URL(server.url), {});
  const promptly = driver.promptly.bind(driver);
  driver.promptly = (_, work) => promptly(ANSWER_MS, work);
  return driver;
});

beforeAll(async () => {
  // A store that looks around at the moment of its crash reports an outage.
  Logger.overrideLogger(false);
  server = await openDatabase();
});
afterAll(async () => {
  await database.close();
  await server.close();
});

describeRunStore(
  'SqlRunStore in Postgres',
  async ({ retention, events }) => {
    let store: SqlRunStore;
    let advanced = 0;
    const open = async (told: StoreHost) => {
      const driver = await database.driver();
      driver.now = async () => (await PostgresDriver.prototype.now.call(driver)) + advanced;
      store = new SqlRunStore(driver, { retention, leaseMs: LEASE_MS });
      await store.open(told);
      return store;
    };
    return {
      store: await open(events),
      sweep: () => store.sweep(),
      advanceClock: (milliseconds) => void (advanced += milliseconds),
      restart: async (told) => {
        await database.crash(store);
        // Another process has seen that the lease of the crashed one has expired.
        await (await database.driver()).db.deleteFrom('processes').execute();
        return open(told);
      },
      close: async () => {
        await store.close();
        await database.empty();
      },
    };
  },
  { cases: SHARE_OF_CASES },
);
