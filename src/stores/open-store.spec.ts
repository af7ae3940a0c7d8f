import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import Database from 'libsql';
import { MemoryRunStore, message } from '../query/index.js';
import { openStore } from './open-store.js';

describe('Opening a store', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-open-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const messageOf = (url: string) =>
    openStore(url, { waitMs: 0 }).then(
      async (store) => {
        await store.close();
        return 'opened';
      },
      (error: Error) => error.message,
    );

  it('takes the memory of the process for memory:', async () => {
    expect(await openStore('memory:')).toBeInstanceOf(MemoryRunStore);
  });

  it('makes the file and the directories that lead to it, and leaves one file behind', async () => {
    const path = join(directory, 'a/b/runs.db');
    expect(await messageOf(`file:${path}`)).toBe('opened');
    expect(await messageOf(`file://${path}`)).toBe('opened');
    expect(await readdir(join(directory, 'a/b'))).toEqual(['runs.db']);
  });

  it('says what a URL may be, and does not print one that may hold a password', async () => {
    const forms = 'it must be memory:, file:<path> or postgres://<user>@<host>/<database>.';
    expect(await messageOf('mysql://root:secret@db/x')).toBe(`The database URL begins with mysql:; ${forms}`);
    expect(await messageOf('runs.db')).toBe(
      `The database URL begins with nothing that ends with a colon; ${forms}`,
    );
    expect(await messageOf('file:')).toBe('The database URL file: must name a file, not a directory.');
    expect(await messageOf('file:./data/')).toBe('The database URL file: must name a file, not a directory.');
  });

  it('refuses a file that another process is using', async () => {
    const path = join(directory, 'runs.db');
    const store = await openStore(`file:${path}`);
    expect(await messageOf(`file:${path}`)).toBe(
      `The database ${path} cannot be opened: another process is using it. ` +
        'A file belongs to one process: end that one, name another file, or use Postgres.',
    );
    await store.close();
    expect(await messageOf(`file:${path}`)).toBe('opened');
  });

  it('refuses a file that is no database, and leaves it as it is', async () => {
    const path = join(directory, 'letter.txt');
    await writeFile(path, 'Dear Sir or Madam, '.repeat(100));
    expect(await messageOf(`file:${path}`)).toBe(
      `The database ${path} cannot be opened: the file is not a database, or is encrypted. ` +
        'It was left as it is; move it away, or name another file.',
    );
    expect(await readFile(path, 'utf8')).toBe('Dear Sir or Madam, '.repeat(100));
  });

  it('refuses a database of a newer version', async () => {
    const path = join(directory, 'runs.db');
    await messageOf(`file:${path}`);
    const file = new Database(path);
    file.exec("insert into migrations (name, timestamp) values ('9999_future', '2040-01-01')");
    file.close();
    expect(await messageOf(`file:${path}`)).toBe(
      `The database ${path} cannot be opened: it was written by a newer version of this software ` +
        '(it has 9999_future). Run that version, or name another database.',
    );
  });

  it('reads the logs of a database whose envelopes were not lines yet', async () => {
    const path = join(directory, 'runs.db');
    const texts = ['a', 'b', 'c'].map((text) => JSON.stringify(message(text)));
    const run = { owner: 'anonymous', id: '6f1de5a4-7c0f-4a4e-8a6e-6e1f2b3c4d5e' };
    const old = await openStore(`file:${path}`);
    await old.recover(() => undefined);
    await old.admit({
      runId: run.id,
      owner: run.owner,
      parts: [],
      kwargs: {},
      session: undefined,
      idempotency: undefined,
      refusal: undefined,
      refusalIfQueued: undefined,
    });
    await Promise.all(texts.map(async (text) => old.append(run, text)));
    await old.finish(run, { status: 'completed' }, 'abc');
    await old.close();
    const file = new Database(path);
    file.exec("delete from migrations where name = '0003_lines'");
    file.exec('update log set envelopes = replace(envelopes, char(10), char(30))');
    file.close();

    const store = await openStore(`file:${path}`);
    await store.recover(() => undefined);
    const done = '{"type":"done","data":{"status":"completed"}}';
    const read: string[] = [];
    while (read.length < 4) read.push(...(await store.read(run, read.length)).lines.split('\n'));
    expect(read).toEqual([...texts, done]);
    await store.close();
  });

  it('refuses a directory that it may not write to', async () => {
    const locked = join(directory, 'locked');
    await mkdir(locked);
    await chmod(locked, 0o555);
    await chmod(directory, 0o755);
    const path = join(locked, 'runs.db');
    const isRoot = process.geteuid?.() === 0;
    // Root may write anywhere.
    if (isRoot) process.seteuid!(65_534);
    try {
      expect(await messageOf(`file:${path}`)).toBe(
        `The database ${path} cannot be opened: this user may not write there. ` +
          'Give the directory to the user of the service, or name another file.',
      );
    } finally {
      if (isRoot) process.seteuid!(0);
    }
  });

  it('says which Postgres cannot be reached, without its password', async () => {
    expect(await messageOf('postgres://me:secret@127.0.0.1:1/runs')).toBe(
      'The database 127.0.0.1:1/runs, schema agent_query cannot be opened: the server cannot be reached (ECONNREFUSED)',
    );
  });
});
