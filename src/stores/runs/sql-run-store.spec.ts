import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { attemptsContract } from '../../../test/contracts/attempts.contract.js';
import { admissionOf, eventsOf, keptAnswer, type OpenStore } from '../../../test/contracts/open-store.js';
import { filesContract } from '../../../test/contracts/files.contract.js';
import { listsContract } from '../../../test/contracts/lists.contract.js';
import { ownersContract, restartedOwnersContract } from '../../../test/contracts/owners.contract.js';
import { runStoreContract } from '../../../test/contracts/run-store.contract.js';
import { deferred, eventually } from '../../../test/support/conditions.js';
import { openDatabase, type TestDatabase } from '../../../test/support/postgres.js';
import type { RecoveryEvents, RetentionOptions } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { PostgresDriver } from '../drivers/postgres-driver.js';
import { SqlRunStore } from './sql-run-store.js';

async function openFile(
  retention?: Partial<RetentionOptions>,
  events?: Partial<RecoveryEvents>,
): Promise<OpenStore> {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
  let driver: LibsqlDriver;
  let store: SqlRunStore;
  const open = async (told = events) => {
    driver = await LibsqlDriver.open(join(directory, 'runs.db'));
    store = new SqlRunStore(driver, { retention });
    await store.recover(eventsOf(told));
    return store;
  };
  return {
    store: await open(),
    sweep: () => store.sweep(),
    restart: async (told) => {
      await crash(driver, store);
      return open(told);
    },
    close: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

runStoreContract('SqlRunStore in a file', openFile);
attemptsContract('SqlRunStore in a file', () => openFile());
listsContract('SqlRunStore in a file', openFile);
filesContract('SqlRunStore in a file', openFile);
ownersContract('SqlRunStore in a file', (events) => openFile(undefined, events));
restartedOwnersContract('SqlRunStore in a file', (events) => openFile(undefined, events));

describe('on Postgres', () => {
  let server: TestDatabase;
  let url: string;

  beforeAll(async () => {
    server = await openDatabase();
    ({ url } = server);
  }, 30_000);
  afterAll(() => server.close());

  const openPostgres = async (
    retention?: Partial<RetentionOptions>,
    events?: Partial<RecoveryEvents>,
  ): Promise<OpenStore> => {
    let driver: PostgresDriver;
    let store: SqlRunStore;
    let advanced = 0;
    const open = async (leaseMs?: number, told = events) => {
      driver = await PostgresDriver.open(new URL(url), {});
      const now = driver.now.bind(driver);
      driver.now = async () => (await now()) + advanced;
      store = new SqlRunStore(driver, { retention, leaseMs });
      await store.recover(eventsOf(told));
      return store;
    };
    const isRecovered = async () => {
      const leases = driver.db.selectFrom('processes').select('processes.id');
      if ((await leases.execute()).length > 1) return false;
      const orphaned = await driver.db
        .selectFrom('runs')
        .select('id')
        .where('ended_at', 'is', null)
        .where('process', '!=', '')
        .where('process', 'not in', leases)
        .execute();
      return orphaned.length === 0;
    };
    return {
      store: await open(),
      sweep: () => store.sweep(),
      advanceClock: (milliseconds) => void (advanced += milliseconds),
      restart: async (told) => {
        await crash(driver, store);
        // The lease of the crashed process expires soon.
        await open(100, told);
        await eventually(isRecovered);
        return store;
      },
      close: async () => {
        await store.close();
        const client = new pg.Client({ connectionString: url });
        await client.connect();
        const { rows } = await client.query<{ name: string }>(
          "select format('agent_query.%I', tablename) as name from pg_tables where schemaname = 'agent_query' and tablename !~ '^migration'",
        );
        // Quicker than a new schema for each test.
        await client.query(rows.map(({ name }) => `delete from ${name}`).join('; '));
        await client.end();
      },
    };
  };

  runStoreContract('SqlRunStore in Postgres', openPostgres);
  attemptsContract('SqlRunStore in Postgres', () => openPostgres());
  listsContract('SqlRunStore in Postgres', openPostgres);
  filesContract('SqlRunStore in Postgres', openPostgres);
  ownersContract('SqlRunStore in Postgres', (events) => openPostgres(undefined, events));
  restartedOwnersContract('SqlRunStore in Postgres', (events) => openPostgres(undefined, events));
});

it('A run is promoted also when the end before it is reported earlier than its admission', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
  const driver = await LibsqlDriver.open(join(directory, 'runs.db'));
  const store = new SqlRunStore(driver);
  await store.recover(eventsOf());
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
  const finishing = store.finish(first, { status: 'completed' }, keptAnswer());
  await eventually(async () => (await store.turns(first.owner, 's', { after: 0, limit: 1 }))!.total === 1);
  reported.resolve();
  const { run: second } = await admitting;
  expect((await finishing)!.next).toMatchObject({ id: second.id });
  expect(await store.take(1)).toMatchObject([{ id: second.id }]);
  await store.close();
  await rm(directory, { recursive: true });
});

/** Cuts the connections, so that the store cannot write anything when it is closed. */
async function crash(driver: Driver, store: SqlRunStore): Promise<void> {
  await driver.db.destroy();
  await store.close().catch(() => undefined);
}
