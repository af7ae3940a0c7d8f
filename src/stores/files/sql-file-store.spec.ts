import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { admissionOf } from '../../../test/contracts/run-store.contract.js';
import { type PostgresServer, startPostgres } from '../../../test/support/postgres.js';
import type { Turn } from '../../query/index.js';
import type { Backend } from '../drivers/driver.js';
import { LibsqlBackend } from '../drivers/libsql-driver.js';
import { PostgresBackend } from '../drivers/postgres-driver.js';
import { SqlRunStore } from '../runs/sql-run-store.js';

interface Opened {
  store: SqlRunStore;
  /** How many contents lie in their place. */
  count(): Promise<number>;
  close(): Promise<void>;
}

const SMALL = Buffer.from('A small file.');
const LARGE = Buffer.alloc(3_000_000, 'A large file. ');
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const partOf = (bytes: Uint8Array): Turn['parts'][number] => ({
  type: 'file',
  name: 'a.bin',
  mimeType: 'application/octet-stream',
  size: bytes.length,
  sha256: digestOf(bytes),
});

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (process.env['TEST_DATABASE_URL'] === undefined) server = await startPostgres(['fsync = off']);
}, 30_000);
afterAll(() => server?.close());

let schemas = 0;
const stores: Record<string, (fileLimits: { fileMs?: number; filesBytes?: number }) => Promise<Opened>> = {
  'a directory': async (retention) => {
    const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-files-'));
    const store = new SqlRunStore(await LibsqlBackend.open(join(directory, 'runs.db')), { retention });
    return {
      store,
      count: async () => {
        const names = await readdir(join(directory, 'runs.db.files'), { recursive: true }).catch(() => []);
        return names.filter((name) => name.includes('/')).length;
      },
      close: async () => {
        await store.close();
        await rm(directory, { recursive: true });
      },
    };
  },
  Postgres: async (retention) => {
    const url = process.env['TEST_DATABASE_URL'] ?? server!.url;
    const schema = `files_${process.pid}_${++schemas}`;
    const backend: Backend = await PostgresBackend.open(new URL(url), { schema });
    const store = new SqlRunStore(backend, { retention });
    return {
      store,
      count: async () =>
        (await backend.db.selectFrom('chunks').select('content_id').distinct().execute()).length,
      close: async () => {
        await backend.db.schema.dropSchema(schema).cascade().execute();
        await store.close();
      },
    };
  },
};

describe.each(Object.keys(stores))('Files of runs in %s', (name) => {
  let opened: Opened;
  let store: SqlRunStore;
  const open = async (limits = {}) => {
    opened = await stores[name]!(limits);
    store = opened.store;
    await store.recover(() => undefined);
  };
  afterEach(() => opened.close());

  let runs = 0;
  const keep = async (bytes: Uint8Array, runId = `file-run-${++runs}`) => {
    await store.files.keep(runId, digestOf(bytes), new Blob([new Uint8Array(bytes)]));
    return runId;
  };
  const admit = (runId: string, bytes: Uint8Array, session?: string) =>
    store.admit(
      admissionOf({
        runId,
        parts: [partOf(bytes)],
        session: session === undefined ? undefined : { id: session, policy: 'enqueue', maxWaiting: 9 },
      }),
    );
  const end = (runId: string) => store.finish({ owner: 'anonymous', id: runId }, { status: 'completed' }, '');
  const read = async (runId: string, bytes: Uint8Array) => {
    const content = await store.files.read(runId, digestOf(bytes));
    if (!content) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    return Buffer.concat(chunks).equals(bytes);
  };

  it('come back as they were, small, large and empty', async () => {
    await open();
    for (const bytes of [SMALL, LARGE, Buffer.alloc(0)])
      expect(await read(await keep(bytes), bytes)).toBe(true);
  });

  it('are given to the runs that refer to them only', async () => {
    await open();
    const runId = await keep(SMALL);
    expect(await read('file-run-of-others', SMALL)).toBeUndefined();
    expect(await read(runId, LARGE)).toBeUndefined();
  });

  it('lie there once, however many bring them at once, until nobody needs them', async () => {
    await open();
    const ids = await Promise.all(Array.from({ length: 8 }, () => keep(LARGE)));
    expect(await opened.count()).toBe(1);
    for (const id of ids.slice(1)) await store.files.release(id);
    expect(await read(ids[0]!, LARGE)).toBe(true);
    await store.files.release(ids[0]!);
    expect(await opened.count()).toBe(0);
  });

  it('stay with the turns of a session, and go when the last session is erased that has them', async () => {
    await open();
    const [a, b] = [await keep(SMALL), await keep(SMALL)];
    await admit(a, SMALL, 'one');
    await admit(b, SMALL, 'two');
    await end(a);
    await end(b);
    await store.sweep();
    await store.erase('anonymous', 'one');
    expect(await read(b, SMALL)).toBe(true);
    expect(await read(a, SMALL)).toBeUndefined();
    await store.erase('anonymous', 'two');
    expect(await opened.count()).toBe(0);
  });

  it('of a run without a session go after its end', async () => {
    await open();
    const runId = await keep(SMALL);
    await admit(runId, SMALL);
    await store.sweep();
    expect(await read(runId, SMALL)).toBe(true);
    await end(runId);
    await store.sweep();
    expect(await opened.count()).toBe(0);
  });

  it('beyond the limit go, those first that came first, but not what an unfinished run needs', async () => {
    await open({ filesBytes: LARGE.length + 10 });
    const [small, large] = [await keep(SMALL), await keep(LARGE)];
    await admit(small, SMALL, 's');
    await admit(large, LARGE, 't');
    await end(large);
    await store.sweep();
    expect([await read(small, SMALL), await read(large, LARGE)]).toEqual([true, undefined]);
    expect(await opened.count()).toBe(1);
  });

  it('come back when they are brought again while they are being removed', async () => {
    await open();
    for (let i = 0; i < 20; i++) {
      const first = await keep(SMALL);
      const [, second] = await Promise.all([store.files.release(first), keep(SMALL)]);
      expect(await read(second, SMALL)).toBe(true);
      await store.files.release(second);
    }
    expect(await opened.count()).toBe(0);
  });
});
