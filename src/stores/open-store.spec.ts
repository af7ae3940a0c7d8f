import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import pg from 'pg';
import { admissionOf, eventsOf, keptAnswer } from '../../test/contracts/open-store.js';
import { eventually } from '../../test/support/conditions.js';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.js';
import { MemoryRunStore, message, type RunRecord, type RunRef } from '../query/index.js';
import { openStore, type StoreOptions } from './open-store.js';
import { SqlRunStore } from './runs/sql-run-store.js';

const DONE = '{"type":"done","data":{"status":"completed"}}';

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

  it('opens a store in memory for memory:', async () => {
    expect(await openStore('memory:')).toBeInstanceOf(MemoryRunStore);
  });

  it('creates the file and its parent directories, and leaves a single file when it is closed', async () => {
    const path = join(directory, 'a/b/runs.db');
    expect(await messageOf(`file:${path}`)).toBe('opened');
    expect(await messageOf(`file://${path}`)).toBe('opened');
    expect(await readdir(join(directory, 'a/b'))).toEqual(['runs.db']);
  });

  it('tells which forms a URL may have, and does not repeat a URL that may contain a password', async () => {
    const forms = 'it must be memory:, file:<path> or postgres://<user>@<host>/<database>.';
    expect(await messageOf('mysql://root:secret@db/x')).toBe(`The database URL begins with mysql:; ${forms}`);
    expect(await messageOf('runs.db')).toBe(`The database URL has no scheme; ${forms}`);
    expect(await messageOf('file:')).toBe('The database URL file: must name a file, not a directory.');
    expect(await messageOf('file:./data/')).toBe('The database URL file: must name a file, not a directory.');
  });

  it('refuses a file that another process uses', async () => {
    const path = join(directory, 'runs.db');
    const store = await openStore(`file:${path}`);
    expect(await messageOf(`file:${path}`)).toBe(
      `The database ${path} cannot be opened: another process is using it. ` +
        'A file belongs to one process: stop that process, use another file, or use Postgres.',
    );
    await store.close();
    expect(await messageOf(`file:${path}`)).toBe('opened');
  });

  it('refuses a file that is not a database, and does not change it', async () => {
    const path = join(directory, 'letter.txt');
    await writeFile(path, 'Dear Sir or Madam, '.repeat(100));
    expect(await messageOf(`file:${path}`)).toBe(
      `The database ${path} cannot be opened: the file is not a database, or it is encrypted. ` +
        'It was not changed; move it away, or use another file.',
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
        '(it has 9999_future). Run that version, or use another database.',
    );
  });

  it('refuses a directory that it may not write to', async () => {
    const locked = join(directory, 'locked');
    await mkdir(locked);
    await chmod(locked, 0o555);
    await chmod(directory, 0o755);
    const path = join(locked, 'runs.db');
    const isRoot = process.geteuid?.() === 0;
    // Root may write to every directory.
    if (isRoot) process.seteuid!(65_534);
    try {
      expect(await messageOf(`file:${path}`)).toBe(
        `The database ${path} cannot be opened: this user may not write there. ` +
          'Give the directory to the user of the service, or use another file.',
      );
    } finally {
      if (isRoot) process.seteuid!(0);
    }
  });

  it('tells which Postgres cannot be reached, without the password', async () => {
    expect(await messageOf('postgres://me:secret@127.0.0.1:1/runs')).toBe(
      'The database 127.0.0.1:1/runs, schema agent_query cannot be opened: the server cannot be reached (ECONNREFUSED)',
    );
  });
});

/** A database that version 0003 of the tables left after a crash. It has the runs alone, ended, running and waiting. */
const FIXTURE = join(import.meta.dirname, '../../test/fixtures/databases/0003.sql');

/** What older versions of the tables contain, made from the fixture. */
const OLD_VERSIONS: Record<string, (fixture: string) => string> = {
  '0003': (fixture) => fixture,
  // Its envelopes were separated by a record separator.
  '0002': (fixture) => fixture.replace(/^.*'0003_lines'.*\n/m, '').replaceAll('}\n{', '}\x1e{'),
};

describe('A database of an older version', () => {
  let server: PostgresServer | undefined;
  let directory: string;
  beforeAll(async () => {
    if (process.env['TEST_DATABASE_URL'] === undefined) server = await startPostgres(['fsync = off']);
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-old-'));
  }, 30_000);
  afterAll(async () => {
    const client = new pg.Client({ connectionString: process.env['TEST_DATABASE_URL'] ?? server!.url });
    await client.connect();
    for (const schema of schemas) await client.query(`drop schema ${schema} cascade`);
    await client.end();
    await server?.close();
    await rm(directory, { recursive: true });
  });

  const schemas: string[] = [];
  const load: Record<string, (version: string, statements: string) => Promise<string>> = {
    'a file': async (version, statements) => {
      const path = join(directory, `${version}.db`);
      const file = new Database(path);
      file.exec(statements);
      file.close();
      return `file:${path}`;
    },
    Postgres: async (version, statements) => {
      const url = new URL(process.env['TEST_DATABASE_URL'] ?? server!.url);
      const schema = `old_${version}_${process.pid}`;
      if (!schemas.includes(schema)) schemas.push(schema);
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
      await client.query(
        `create schema if not exists ${schema}; set search_path to ${schema}; ${statements}`,
      );
      await client.end();
      url.searchParams.set('schema', schema);
      return url.href;
    },
  };

  const cases = Object.keys(load).flatMap((database) =>
    Object.keys(OLD_VERSIONS).map((version) => [version, database] as const),
  );
  it.each(cases)('%s keeps its runs, logs, sessions and keys, in %s', async (version, database) => {
    const fixture = await readFile(FIXTURE, 'utf8');
    const store = await openStore(await load[database]!(version, OLD_VERSIONS[version]!(fixture)), {
      leaseMs: 50,
    });
    await store.recover(eventsOf());
    const [alone, running] = ['alone', 'running'].map((id) => ({ owner: 'ann', id }));
    const logOf = async (run: RunRef) => {
      const texts: string[] = [];
      for (;;) {
        const { count, lines } = await store.read(run, texts.length);
        if (count === 0) return texts;
        texts.push(...lines.split('\n'));
      }
    };
    const texts = (...contents: string[]) => contents.map((content) => JSON.stringify(message(content)));

    // The lease of the crashed process ends first.
    let taken: RunRecord[] = [];
    await eventually(async () => (taken = await store.take(9)).length > 0);
    expect(taken).toMatchObject([
      { id: 'waiting', owner: 'ann', sessionId: 's', status: 'running', attempt: 1, detached: false },
    ]);
    expect(await store.query(taken[0]!)).toEqual({
      parts: [{ type: 'text', text: 'Question waiting' }],
      kwargs: { a: 1 },
      answer: keptAnswer(),
      checkpoint: undefined,
    });
    expect(await logOf(alone!)).toEqual([...texts('a', 'b', 'c', 'd'), DONE]);
    expect(await store.read(alone!, 5)).toMatchObject({ count: 0, endOffset: 209, ended: true });
    expect((await logOf(running!)).slice(0, -1)).toEqual(texts('half ', 'an answer'));
    expect(await store.find('ann', 'running')).toMatchObject({ status: 'failed', lastSeq: 3 });
    expect(await store.turns('ann', 's', { after: 0, limit: 9 })).toMatchObject({
      turns: [
        { runId: 'ended', ...keptAnswer('An answer'), end: { status: 'completed' } },
        { runId: 'running', ...keptAnswer('half an answer'), end: { status: 'failed' } },
      ],
      total: 2,
    });

    const page = { after: undefined, limit: 9 };
    const listed = (await store.runs('ann', page)).runs.map(({ id }) => id);
    expect(listed).toEqual(['waiting', 'running', 'ended', 'alone']);
    expect((await store.sessions('ann', page)).sessions).toMatchObject([
      { id: 's', title: 'Question ended', turns: 2, active: 'waiting' },
    ]);

    const idempotency = { key: 'k', digest: '1' };
    expect(await store.admit(admissionOf({ owner: 'ann', idempotency }))).toMatchObject({
      created: false,
      run: { id: 'alone' },
    });
    const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
    const { run, ahead } = await store.admit(admissionOf({ owner: 'ann', session }));
    expect(ahead).toMatchObject([{ id: 'waiting' }]);
    const finished = await store.finish(taken[0]!, { status: 'completed' }, keptAnswer());
    expect(finished).toMatchObject({ next: { id: run.id } });
    await store.close();
  });

  /** Takes back what the migration 0012 has changed. */
  const TO_0011 = `drop table files; alter table runs drop column path; delete from migrations where name = '0012_files';`;

  /** Takes back what the migrations after 0007 have changed. */
  const TO_0007 = `
    ${TO_0011}
    drop table uploads;
    drop index runs_listed; drop index sessions_listed; drop index runs_session;
    create index runs_session on runs (session_key);
    alter table runs drop column owner_hash; alter table sessions drop column owner_hash;
    alter table sessions drop column owner; alter table sessions drop column id;
    alter table sessions drop column title;
    alter table runs drop column trace;
    drop index runs_ready; drop index runs_waiting; drop index runs_active; drop index runs_restarting;
    alter table runs drop column owner_key; alter table runs drop column round;
    alter table runs drop column deferred_at;
    create index runs_ready on runs (module, ready_at) where status = 'waiting';
    delete from migrations
      where name in ('0008_owners', '0009_traces', '0010_uploads', '0011_lists');`;

  it.each(Object.keys(load))('0011 knows the files of its turns, in %s', async (database) => {
    const url = await load[database]!('0011', '');
    const before = await openStore(url, { leaseMs: 50 });
    await before.recover(eventsOf());
    const [sha256, other] = ['a'.repeat(64), 'b'.repeat(64)];
    const part = { type: 'file' as const, name: 'a.csv', mimeType: 'text/csv', size: 5, sha256 };
    for (const session of [{ id: 's', policy: 'enqueue' as const, maxWaiting: 9 }, undefined]) {
      const admission = admissionOf({ owner: 'ann', parts: [part], session });
      await before.files.keep(admission.runId, sha256, new Blob(['hello']));
      const { run } = await before.admit(admission);
      await before.finish(run, { status: 'completed' }, keptAnswer());
    }
    await before.close();
    await load[database]!('0011', TO_0011);

    const store = await openStore(url, { leaseMs: 50 });
    await store.recover(eventsOf());
    const [withTurn] = (await store.turns('ann', 's', { after: 0, limit: 9 }))!.turns;
    expect(await store.file('ann', withTurn!.runId, sha256)).toEqual(part);
    expect(await store.file('ann', withTurn!.runId, other)).toBeUndefined();
    expect(await store.file('bob', withTurn!.runId, sha256)).toBeUndefined();
    await store.close();
  });

  it.each(Object.keys(load))(
    '0007 gives slots to the owners of its waiting runs in turn, in %s',
    async (database) => {
      const url = await load[database]!('0007', '');
      const before = await openStore(url, { leaseMs: 50 });
      await before.recover(eventsOf());
      const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
      await before.admit(admissionOf({ owner: 'ann', mayStart: false, session }));
      await before.admit(admissionOf({ owner: 'ann', session }));
      for (const owner of ['ann', 'ann', 'bob', 'bob', 'cid'])
        await before.admit(admissionOf({ owner, mayStart: false }));
      await before.close();
      await load[database]!('0007', TO_0007);

      const store = await openStore(url, { leaseMs: 50 });
      await store.recover(eventsOf({ maxRunningPerOwner: () => 2 }));
      const owners = async () => (await store.take(9)).map(({ owner }) => owner);
      expect(await owners()).toEqual(['ann', 'bob', 'cid', 'ann', 'bob']);
      expect(await owners()).toEqual([]);
      await store.close();
    },
  );
});

describe('The retention of a store', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-retention-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Ends a run, applies the retention, and tells whether the store still has the run. */
  const isKept = async (url: string, retention: StoreOptions['retention']) => {
    const store = await openStore(url, { retention });
    await store.recover(eventsOf());
    const { run } = await store.admit(admissionOf());
    await store.finish(run, { status: 'completed' }, keptAnswer());
    await delay(20);
    if (store instanceof SqlRunStore) await store.sweep();
    const found = await store.find(run.owner, run.id);
    await store.close();
    return found !== undefined;
  };

  it.each(['memory:', 'file:'])('is applied by %s', async (scheme) => {
    const url = scheme === 'file:' ? `file:${join(directory, 'runs.db')}` : scheme;
    expect(await isKept(url, { runMs: 60_000 })).toBe(true);
    expect(await isKept(url, { runMs: 10 })).toBe(false);
  });

  it.each(['memory:', 'file:'])(
    'has its defaults for members that are undefined, with %s',
    async (scheme) => {
      const url = scheme === 'file:' ? `file:${join(directory, 'runs.db')}` : scheme;
      expect(await isKept(url, { runMs: undefined, totalLength: undefined, fileMs: undefined })).toBe(true);
      expect(await isKept(url, undefined)).toBe(true);
    },
  );

  it('cannot limit the age of files with memory:', async () => {
    await expect(openStore('memory:', { retention: { fileMs: 1000 } })).rejects.toThrow(
      'The store memory: does not support retention.fileMs, because it keeps a file as long as the session. ' +
        'Remove fileMs, or use a file or Postgres.',
    );
  });
});
