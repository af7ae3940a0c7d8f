import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import pg from 'pg';
import type { RetentionOptions } from '../../query/index.js';
import { runStoreContract } from '../../../test/contracts/run-store.contract.js';
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.js';
import type { Backend } from '../drivers/driver.js';
import { LibsqlBackend } from '../drivers/libsql-driver.js';
import { PostgresBackend } from '../drivers/postgres-driver.js';
import { SqlRunStore } from './sql-run-store.js';

runStoreContract('SqlRunStore in a file', async (retention?: Partial<RetentionOptions>) => {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-store-'));
  let backend: LibsqlBackend;
  let store: SqlRunStore;
  const open = async () => {
    backend = await LibsqlBackend.open(join(directory, 'runs.db'));
    store = new SqlRunStore(backend, { retention });
    await store.recover(() => undefined);
    return store;
  };
  return {
    store: await open(),
    sweep: () => store.sweep(),
    restart: async () => {
      await crash(backend, store);
      return open();
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
    let backend: PostgresBackend;
    let store: SqlRunStore;
    const open = async (leaseMs?: number) => {
      backend = await PostgresBackend.open(new URL(url), { schema });
      store = new SqlRunStore(backend, { retention, leaseMs });
      await store.recover(() => undefined);
      return store;
    };
    return {
      store: await open(),
      sweep: () => store.sweep(),
      restart: async () => {
        await crash(backend, store);
        await open(50);
        // The lease of the process that was there before has to run out.
        for (;;) {
          const processes = await backend.db.selectFrom('processes').select('id').execute();
          const lost = await store.queue('anonymous', 's');
          if (processes.length === 1 && lost.every(({ status }) => status === 'waiting')) return store;
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

/** The connections are cut; whatever the store would do at its end fails. */
async function crash(backend: Backend, store: SqlRunStore): Promise<void> {
  await backend.db.destroy();
  await store.close().catch(() => undefined);
}
