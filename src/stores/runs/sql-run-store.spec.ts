import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import pg from 'pg';
import type { RetentionOptions, StoredRun } from '../../query/index.js';
import { admissionOf, runStoreContract } from '../../../test/contracts/run-store.contract.js';
import { deferred } from '../../../test/support/conditions.js';
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.js';
import type { Driver } from '../drivers/driver.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { PostgresDriver } from '../drivers/postgres-driver.js';
import { SqlRunStore } from './sql-run-store.js';

runStoreContract('SqlRunStore in a file', async (retention?: Partial<RetentionOptions>) => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
  let driver: LibsqlDriver;
  let store: SqlRunStore;
  const open = async (execute: (stored: StoredRun) => void = () => undefined) => {
    driver = await LibsqlDriver.open(join(directory, 'runs.db'));
    store = new SqlRunStore(driver, { retention });
    await store.recover(execute);
    return store;
  };
  return {
    store: await open(),
    sweep: () => store.sweep(),
    restart: async (execute) => {
      await crash(driver, store);
      return open(execute);
    },
    close: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
});

describe('on Postgres', () => {
  let server: PostgresServer | undefined;
  let url: string;
  let schemas = 0;

  beforeAll(async () => {
    const existing = process.env['TEST_DATABASE_URL'];
    if (existing === undefined) server = await startPostgres(['fsync = off']);
    url = existing ?? server!.url;
  }, 30_000);
  afterAll(() => server?.close());

  runStoreContract('SqlRunStore in Postgres', async (retention?: Partial<RetentionOptions>) => {
    const schema = `test_${process.pid}_${++schemas}`;
    let driver: PostgresDriver;
    let store: SqlRunStore;
    const open = async (leaseMs?: number, execute: (stored: StoredRun) => void = () => undefined) => {
      driver = await PostgresDriver.open(new URL(url), { schema });
      store = new SqlRunStore(driver, { retention, leaseMs });
      await store.recover(execute);
      return store;
    };
    return {
      store: await open(),
      sweep: () => store.sweep(),
      restart: async (execute) => {
        await crash(driver, store);
        await open(50, execute);
        // Wait until the lease of the crashed process has expired and its runs are recovered.
        for (;;) {
          const processes = await driver.db.selectFrom('processes').select('id').execute();
          const queue = await store.queue('anonymous', 's');
          if (processes.length === 1 && queue.every(({ status }) => status === 'waiting')) return store;
        }
      },
      close: async () => {
        await store.close();
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        await client.query(`drop schema ${schema} cascade`);
        await client.end();
      },
    };
  });
});

it('A run is promoted also when the end before it is reported earlier than its admission', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.recover(() => undefined);
  const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
  const { run: first } = await store.admit(admissionOf({ session }));
  await store.start(first);

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
  const finishing = store.finish(first, { status: 'completed' }, '');
  while ((await store.turns(first.owner, 's', { after: 0, limit: 1 }))!.total === 0);
  reported.resolve();
  const { run: second } = await admitting;
  expect((await finishing)!.next).toMatchObject({ id: second.id });
  await store.close();
  await rm(directory, { recursive: true });
});

/** Cuts the connections, so that the store cannot write anything when it is closed. */
async function crash(driver: Driver, store: SqlRunStore): Promise<void> {
  await driver.db.destroy();
  await store.close().catch(() => undefined);
}
