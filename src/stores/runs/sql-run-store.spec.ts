import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deferred, eventually } from '../../../test/support/conditions.js';
import { openDatabase, type TestDatabase } from '../../../test/support/postgres.js';
import type { RecoveryEvents } from '../../query/index.js';
import { describeRunStore } from '../../testing/index.js';
import { admissionOf, eventsOf, keptAnswer } from '../../testing/store-contract/opened-store.js';
import type { Driver } from '../drivers/driver.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { PostgresDriver } from '../drivers/postgres-driver.js';
import { SqlRunStore } from './sql-run-store.js';

/**
 * A database that the tests have one after another. Its tables are emptied after each: this takes a tenth of the time that a
 * new database and its connections take.
 */
class OneDatabase<D extends Driver> {
  readonly #open: () => Promise<D>;
  #driver: D | undefined;
  #close: (() => Promise<void>) | undefined;
  #tables: 'runs'[] | undefined;

  constructor(open: () => Promise<D>) {
    this.#open = open;
  }

  /** Its driver, whose connections stay when a store closes it. */
  async driver(): Promise<D> {
    if (this.#driver) return this.#driver;
    const driver = await this.#open();
    this.#close = driver.close.bind(driver);
    driver.close = async () => undefined;
    return (this.#driver = driver);
  }

  /** Cuts the connections, so that a store cannot write anything when it is closed. */
  async crash(store: SqlRunStore): Promise<void> {
    await this.#driver!.db.destroy();
    await store.close().catch(() => undefined);
    await this.close().catch(() => undefined);
  }

  /** Deletes all rows. */
  async empty(): Promise<void> {
    const driver = await this.driver();
    this.#tables ??= (await driver.db.introspection.getTables())
      .map(({ name }) => name)
      // Triggers keep the counts, on Postgres during the commit.
      .filter((name) => !name.includes('migration') && name !== 'waiting_counts') as 'runs'[];
    const tables = this.#tables;
    await driver.transact(async (db) => {
      for (const table of tables) await db.deleteFrom(table).execute();
    });
  }

  async close(): Promise<void> {
    this.#driver = undefined;
    await this.#close?.();
    this.#close = undefined;
  }
}

const files = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
const file = new OneDatabase(() => LibsqlDriver.open(join(files, 'runs.db')));
afterAll(async () => {
  await file.close();
  await rm(files, { recursive: true });
});

describeRunStore('SqlRunStore in a file', async ({ retention, events }) => {
  let store: SqlRunStore;
  const open = async (told: RecoveryEvents) => {
    store = new SqlRunStore(await file.driver(), { retention });
    await store.open(told);
    return store;
  };
  return {
    store: await open(events),
    sweep: () => store.sweep(),
    restart: async (told) => {
      await file.crash(store);
      return open(told);
    },
    close: async () => {
      await store.close();
      await file.empty();
      await rm((await file.driver()).contentDirectory, { recursive: true, force: true });
    },
  };
});

describe('on Postgres', () => {
  let server: TestDatabase;
  const database = new OneDatabase(() => PostgresDriver.open(new URL(server.url), {}));

  beforeAll(async () => {
    server = await openDatabase();
  });
  afterAll(async () => {
    await database.close();
    await server.close();
  });

  describeRunStore('SqlRunStore in Postgres', async ({ retention, events }) => {
    let store: SqlRunStore;
    let advanced = 0;
    const open = async (told: RecoveryEvents) => {
      const driver = await database.driver();
      driver.now = async () => (await PostgresDriver.prototype.now.call(driver)) + advanced;
      store = new SqlRunStore(driver, { retention });
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
  });
});

it('A run is promoted also when the end before it is reported earlier than its admission', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.open(eventsOf());
  const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
  const { run: first } = await store.admit(admissionOf({ session }));

  const transact = driver.transact.bind(driver);
  const [committed, reported] = [deferred(), deferred()];
  driver.transact = async (work) => {
    driver.transact = transact;
    const value = await transact(work);
    committed.resolve();
    await reported.promise;
    return value;
  };
  const admitting = store.admit(admissionOf({ session }));
  await committed.promise;
  const finishing = store.end(first, { status: 'completed' }, keptAnswer());
  await eventually(async () => (await store.turns(first.owner, 's', { after: 0, limit: 1 }))!.total === 1);
  reported.resolve();
  const { run: second } = await admitting;
  expect((await finishing)!.next).toMatchObject({ id: second.id });
  expect(await store.take(1)).toMatchObject([{ id: second.id }]);
  await store.close();
  await rm(directory, { recursive: true });
});
