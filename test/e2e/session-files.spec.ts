import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import {
  AgentService,
  log,
  message,
  type Query,
  type QueryContext,
  QueryModule,
  type RunStore,
} from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { promise } from '../promises.js';
import { get, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, startHost } from '../support/host.js';

/** Reads every file of its session, the files of earlier turns first. */
async function* handler({ parts }: Query, { session, history }: QueryContext) {
  for (const turn of history) {
    for (const part of turn.parts) {
      if (part.type === 'file') yield message(`earlier ${await (await session!.file(part.sha256)).text()}`);
    }
  }
  for (const part of parts) if (part.type === 'file') yield message(`now ${await part.file.text()}`);
  try {
    await session!.file('0'.repeat(64));
  } catch (error) {
    yield log((error as Error).message);
  }
}

async function entriesOf(directory: string) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.map((entry) => ({ path: join(entry.parentPath, entry.name), isFile: entry.isFile() }));
}

/** How often a text is in the files of a directory. */
async function mentions(directory: string, text: string): Promise<number> {
  let count = 0;
  for (const { path, isFile } of await entriesOf(directory)) {
    if (isFile) count += (await readFile(path, 'latin1')).split(text).length - 1;
  }
  return count;
}

/** The permissions of everything in a directory. */
async function modesOf(directory: string): Promise<Set<string>> {
  const modes = (await entriesOf(directory)).map(async ({ path, isFile }) => {
    const permissions = ((await stat(path)).mode & 0o777).toString(8);
    return `${isFile ? 'file' : 'directory'} ${permissions}`;
  });
  return new Set(await Promise.all(modes));
}

describeOnOneAdapter('A handler on %s', (adapter) => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-session-files-'));
  });
  afterEach(async () => {
    const path = join(directory, 'runs.db');
    if (existsSync(path)) {
      const database = new Database(path);
      expect(database.prepare('select id from runs where ended_at is null').all()).toEqual([]);
      database.close();
    }
    await rm(directory, { recursive: true });
  });

  const large = 'A file that does not stay in memory. '.repeat(10_000);
  const serve = (store: RunStore) => startHost(adapter, QueryModule.forRoot({ handler, store }));
  const send = async (url: string, content: string) => {
    const file = {
      type: 'file',
      name: 'a.txt',
      mimeType: 'text/plain',
      base64: Buffer.from(content).toString('base64'),
    };
    const reply = await request(url, {}, JSON.stringify({ parts: [file], kwargs: { session_id: 's' } }));
    return (await reply.allEnvelopes()).map(({ data }) => data);
  };
  const missing = { message: 'No turn of the session has a file with this digest.' };

  it(promise('session.files'), async () => {
    const host = await serve(await openStore('memory:'));
    await send(host.url, large);
    expect(await send(host.url, 'second')).toEqual([
      { content: `earlier ${large}` },
      { content: 'now second' },
      missing,
      { status: 'completed' },
    ]);
    await host.close();
  });

  it.each([
    [11, 0],
    [10, 1],
  ])(
    promise('session.files', 'files larger than %i bytes are read from the spool'),
    async (memoryBytes, count) => {
      /** Opens the files of the earlier turns, then says how many files the spool has. */
      async function* countSpoolFiles(_query: Query, { session, history }: QueryContext) {
        for (const { parts } of history)
          for (const part of parts) if (part.type === 'file') await session!.file(part.sha256);
        const entries = await readdir(directory, { recursive: true, withFileTypes: true });
        yield message(String(entries.filter((entry) => entry.isFile()).length));
      }
      const store = await openStore('memory:');
      const options = { handler: countSpoolFiles, store, limits: { memoryBytes }, spoolDirectory: directory };
      const host = await startHost(adapter, QueryModule.forRoot(options));
      await send(host.url, '11 bytes...');
      expect(await send(host.url, 'now')).toEqual([{ content: String(count) }, { status: 'completed' }]);
      await host.close();
      expect(await readdir(directory)).toEqual([]);
    },
  );

  it.each([
    ['its own', async () => undefined],
    ['a given', () => openStore('memory:')],
  ])(
    promise('session.files', '%s store in memory keeps large files in the spool directory'),
    async (_, open) => {
      const store = await open();
      const answer = async function* () {
        yield message('Kept.');
      };
      const options = { handler: answer, ...(store && { store }), spoolDirectory: directory };
      const host = await startHost(adapter, QueryModule.forRoot(options));
      const content = 'x'.repeat(5 * 1024 * 1024);
      await send(host.url, content);
      // The query does not need its own temporary file any more.
      await eventually(() => host.app.get(AgentService, { strict: false }).spoolUse().files === 0);
      expect(await mentions(directory, content)).toBe(1);
      await host.close();
      expect(await readdir(directory)).toEqual([]);
    },
  );

  it(promise('session.erased-from-disk'), async () => {
    const path = join(directory, 'data', 'runs.db');
    const host = await serve(await openStore(`file:${path}`));
    await send(host.url, `secret ${'x'.repeat(200_000)}`);
    await send(host.url, 'secret too');
    // A run that has just ended lets go of the files that it has read.
    await eventually(async () => (await readdir(join(`${path}.files`, 'opened'))).length === 0);
    expect(await mentions(directory, 'secret')).toBeGreaterThan(0);
    expect((await request(host.url, { method: 'DELETE', path: '/query/sessions/s' })).status).toBe(204);
    expect(await mentions(directory, 'secret')).toBe(0);
    expect(await modesOf(directory)).toEqual(new Set(['directory 700', 'file 600']));
    await host.close();
    expect(await mentions(directory, 'secret')).toBe(0);
  });

  it(promise('session.durable'), async () => {
    const url = `file:${join(directory, 'runs.db')}`;
    let host = await serve(await openStore(url));
    await send(host.url, large);
    await host.close();
    host = await serve(await openStore(url));
    expect(await send(host.url, 'second')).toEqual([
      { content: `earlier ${large}` },
      { content: 'now second' },
      missing,
      { status: 'completed' },
    ]);
    const path = '/query/sessions/s';
    expect((await request(host.url, { method: 'DELETE', path })).status).toBe(204);
    expect((await get(host.url, path)).status).toBe(404);
    expect(await send(host.url, 'third')).toEqual([
      { content: 'now third' },
      missing,
      { status: 'completed' },
    ]);
    await host.close();
  });
});
