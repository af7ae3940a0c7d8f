import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { admissionOf, eventsOf, keptAnswer } from '../../../packages/store-contract/src/opened-store.js';
import { eventually } from '../../../test/support/conditions.js';
import { casesOf } from '../../../test/support/long-form.js';
import { OneDatabase } from '../../../test/support/one-database.js';
import { openDatabase, type TestDatabase } from '../../../test/support/postgres.js';
import type { Turn } from '../../query/index.js';
import { LibsqlDriver } from '../drivers/libsql-driver.js';
import { PostgresDriver } from '../drivers/postgres-driver.js';
import { SqlRunStore } from '../sql-run-store.js';
import type { StoredRetention } from '../process/retention-options.js';

interface Opened {
  store: SqlRunStore;
  /** How many contents the storage has. */
  count(): Promise<number>;
  close(): Promise<void>;
}

const SMALL = Buffer.from('A small file.');
const LARGE = Buffer.alloc(1_200_000, 'A large file. ');
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const partOf = (bytes: Uint8Array): Turn['parts'][number] => ({
  type: 'file',
  name: 'a.bin',
  mimeType: 'application/octet-stream',
  size: bytes.length,
  sha256: digestOf(bytes),
});

/** A content that gives its bytes when it is told to. */
class HeldBlob extends Blob {
  give!: () => void;
  readonly #given = new Promise<void>((resolve) => (this.give = resolve));
  #asked!: () => void;
  readonly isAsked = new Promise<void>((resolve) => (this.#asked = resolve));

  override slice(): Blob {
    return this;
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    this.#asked();
    await this.#given;
    return super.arrayBuffer();
  }

  override stream(): ReturnType<Blob['stream']> {
    this.#asked();
    const held = async function* (this: HeldBlob) {
      await this.#given;
      yield new Uint8Array(SMALL);
    };
    return ReadableStream.from(held.call(this)) as ReturnType<Blob['stream']>;
  }
}

let directory: string;
let server: TestDatabase;
const file = new OneDatabase(() => LibsqlDriver.open(join(directory, 'runs.db')));
const database = new OneDatabase(() => PostgresDriver.open(new URL(server.url)));
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-files-'));
  server = await openDatabase();
});
afterAll(async () => {
  await file.close();
  await rm(directory, { recursive: true });
  await database.close();
  await server.close();
});

const stores: Record<string, (retention: Partial<StoredRetention>) => Promise<Opened>> = {
  'a directory': async (retention) => {
    const driver = await file.driver();
    const store = new SqlRunStore(driver, { retention });
    return {
      store,
      count: async () => {
        const names = await readdir(driver.contentDirectory, { recursive: true }).catch(() => []);
        return names.filter((name) => name.includes('/')).length;
      },
      close: async () => {
        await store.close();
        await file.empty();
        await rm(driver.contentDirectory, { recursive: true, force: true });
      },
    };
  },
  Postgres: async (retention) => {
    const { db } = await database.driver();
    const store = new SqlRunStore(await database.driver(), { retention });
    return {
      store,
      count: async () => (await db.selectFrom('chunks').select('content_id').distinct().execute()).length,
      close: async () => {
        await store.close();
        await database.empty();
      },
    };
  },
};

describe.each(Object.keys(stores))('The file store of a SqlRunStore, with %s', (name) => {
  let opened: Opened;
  let store: SqlRunStore;
  const open = async (retention: Partial<StoredRetention> = {}) => {
    opened = await stores[name]!(retention);
    store = opened.store;
    await store.open(eventsOf());
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
  const end = (runId: string) =>
    store.end({ owner: 'anonymous', id: runId, attempt: 1 }, { status: 'completed' }, keptAnswer());
  const read = async (runId: string, bytes: Uint8Array) => {
    const content = await store.files.read(runId, digestOf(bytes));
    if (!content) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    return Buffer.concat(chunks).equals(bytes);
  };

  it('returns the bytes of small, large and empty files unchanged', async () => {
    await open();
    for (const bytes of [SMALL, LARGE, Buffer.alloc(0)])
      expect(await read(await keep(bytes), bytes)).toBe(true);
  });

  it('returns a file only to the runs that use it', async () => {
    await open();
    const runId = await keep(SMALL);
    expect(await read('another-file-run', SMALL)).toBeUndefined();
    expect(await read(runId, LARGE)).toBeUndefined();
  });

  it('stores a file once if several queries bring it at the same time, and removes it after its last use', async () => {
    await open();
    const ids = await Promise.all(Array.from({ length: 8 }, () => keep(LARGE)));
    expect(await opened.count()).toBe(1);
    for (const id of ids.slice(1)) await store.files.release(id);
    expect(await read(ids[0]!, LARGE)).toBe(true);
    await store.files.release(ids[0]!);
    expect(await opened.count()).toBe(0);
  });

  it('keeps a file for the forks of a session, and removes it when all are erased, also at the same time', async () => {
    await open();
    for (let round = 0; round < casesOf(8); round++) {
      const run = await keep(SMALL);
      await admit(run, SMALL, 'one');
      await end(run);
      const forks = ['two', 'three', 'four'];
      for (const newId of forks) await store.fork('anonymous', { sessionId: 'one', afterTurn: 1, newId });
      await store.erase('anonymous', 'one');
      expect([await read(run, SMALL), await opened.count()]).toEqual([true, 1]);
      await Promise.all(forks.map((id) => store.erase('anonymous', id)));
      expect(await store.part('anonymous', run, digestOf(SMALL))).toBeUndefined();
      expect(await opened.count()).toBe(0);
    }
  });

  it('keeps a file for the turns of sessions, and removes it when the last of these sessions is erased', async () => {
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

  it('removes the file of a run without a session with the run', async () => {
    await open({ runMs: 0 });
    const runId = await keep(SMALL);
    await admit(runId, SMALL);
    await store.sweep();
    expect(await read(runId, SMALL)).toBe(true);
    await end(runId);
    expect(await read(runId, SMALL)).toBe(true);
    await eventually(async () => {
      await store.sweep();
      return (await opened.count()) === 0;
    });
  });

  it('keeps nothing of a file that is still being stored when its run is erased', async () => {
    await open();
    const runId = `file-run-${++runs}`;
    await admit(runId, SMALL);
    await end(runId);
    const content = new HeldBlob([new Uint8Array(SMALL)]);
    const kept = store.files.keep(runId, digestOf(SMALL), content, true);
    await content.isAsked;
    expect(await store.eraseRun('anonymous', runId)).toBe(true);
    content.give();
    await kept;
    expect(await opened.count()).toBe(0);
  });

  it('drops the oldest files beyond the limit, but none that an unfinished run uses', async () => {
    await open({ filesBytes: LARGE.length + 10 });
    const [small, large] = [await keep(SMALL), await keep(LARGE)];
    await admit(small, SMALL, 's');
    await admit(large, LARGE, 't');
    await end(large);
    await store.sweep();
    expect([await read(small, SMALL), await read(large, LARGE)]).toEqual([true, undefined]);
    expect(await opened.count()).toBe(1);
  });

  it('stores a file again if a query brings it during its removal', async () => {
    await open();
    for (let i = 0; i < casesOf(40); i++) {
      const first = await keep(SMALL);
      const [, second] = await Promise.all([store.files.release(first), keep(SMALL)]);
      expect(await read(second, SMALL)).toBe(true);
      await store.files.release(second);
    }
    expect(await opened.count()).toBe(0);
  });
});
