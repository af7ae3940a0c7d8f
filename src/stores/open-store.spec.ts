import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import Database from 'libsql';
import pg from 'pg';
import { openDatabase, type PostgresServer, startPostgres } from '../../test/support/postgres.js';
import { admissionOf, eventsOf, keptAnswer } from '../../packages/store-contract/src/opened-store.js';
import { MemoryRunStore } from '../query/index.js';
import { openStore, type StoreOptions } from './open-store.js';
import { SqlRunStore } from './sql-run-store.js';

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
        'A file belongs to one process: stop that process, use another file, use Postgres, or keep runs in memory only, with the URL memory: (for the service: DATABASE_URL=memory:).',
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

  it('refuses a database of another version', async () => {
    const path = join(directory, 'runs.db');
    await messageOf(`file:${path}`);
    const file = new Database(path);
    file.exec("insert into migrations (name, timestamp) values ('9999_future', '2040-01-01')");
    file.close();
    expect(await messageOf(`file:${path}`)).toBe(
      `The database ${path} cannot be opened: it was written by another version of this software ` +
        '(it has 9999_future). Run that version, or use another database.',
    );
  });

  it('refuses a Postgres database of another version at once', async () => {
    const server = await openDatabase();
    expect(await messageOf(server.url)).toBe('opened');
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query("insert into agent_query.migrations values ('9999_future', '2040-01-01')");
    await client.end();
    await expect(openStore(server.url, { waitMs: 60_000 })).rejects.toThrow(
      'it was written by another version of this software (it has 9999_future). Run that version, or use another database.',
    );
    await server.close();
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

describe('A Postgres server at the start', () => {
  const WAIT_MS = 60_000;
  let server: PostgresServer;
  let admin: pg.Client;

  beforeAll(async () => {
    server = await startPostgres(['fsync = off']);
    admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query('create database runs');
    await admin.query(`
      create role poor login; create role limited login connection limit 0;
      create role secret login password 'right'; create role stranger login`);
    const { rows } = await admin.query<{ hba_file: string }>('show hba_file');
    const lines = [
      'secret 127.0.0.1/32 scram-sha-256',
      'stranger 127.0.0.1/32 reject',
      'all 127.0.0.1/32 trust',
    ];
    const values = lines.map((line) => `('host all ${line}')`).join();
    await admin.query(`copy (values ${values}) to '${rows[0]!.hba_file}'`);
    await admin.query('select pg_reload_conf()');
  });
  afterAll(async () => {
    await admin.end();
    await server.close();
  });

  const urlOf = (user: string, database = 'runs', rest = '') =>
    `postgres://${user}@${new URL(server.url).host}/${database}${rest}`;

  const refusalOf = async (url: string, waitMs = WAIT_MS) => {
    const { message } = (await openStore(url, { waitMs }).catch((error: Error) => error)) as Error;
    return message.replaceAll(new URL(server.url).host, 'host');
  };

  const RIGHTS =
    'Give the role of the URL the right CREATE on the database, or make a schema that belongs to it.';
  const USER = 'Check the user and the password of the URL, and pg_hba.conf of the server.';
  const TLS = 'Check sslmode and sslrootcert of the URL.';

  it.each([
    ['poor', 'runs', '', `permission denied for database runs. ${RIGHTS}`],
    [
      'test',
      'none',
      '',
      'database "none" does not exist. Create the database, or name another one in the URL.',
    ],
    ['nobody', 'runs', '', `role "nobody" does not exist. ${USER}`],
    ['secret:wrong', 'runs', '', `password authentication failed for user "secret". ${USER}`],
    [
      'stranger',
      'runs',
      '',
      /^pg_hba\.conf rejects connection for host "127\.0\.0\.1".+pg_hba\.conf of the server\.$/,
    ],
    ['test', 'runs', '?sslmode=require', `The server does not support SSL connections. ${TLS}`],
  ])(
    'is not waited for if it refuses what will not change: %s, %s%s',
    async (user, database, rest, reason) => {
      const message = await refusalOf(urlOf(user, database, rest));
      const begin = `The database host/${database}, schema agent_query cannot be opened: `;
      expect(message.startsWith(begin)).toBe(true);
      if (typeof reason === 'string') expect(message.slice(begin.length)).toBe(reason);
      else expect(message.slice(begin.length)).toMatch(reason);
      expect(message).not.toContain('wrong');
    },
  );

  it('needs no right on the database where the schema was made before, and is the owner of it', async () => {
    await admin.query('create database made');
    const client = new pg.Client({ connectionString: urlOf('test', 'made') });
    await client.connect();
    await client.query('create schema agent_query authorization poor');
    const store = await openStore(urlOf('poor', 'made'), { waitMs: WAIT_MS });
    await store.check();
    await store.close();
    await client.query('create schema other');
    await client.end();
    expect(await refusalOf(urlOf('poor', 'made', '?schema=other'))).toBe(
      `The database host/made, schema other cannot be opened: permission denied for schema other. ${RIGHTS}`,
    );
  });

  describe('is waited for', () => {
    const UNAVAILABLE = [
      ['used', () => urlOf('limited'), 'too many connections for role "limited"'],
      ['reached', () => 'postgres://test@127.0.0.1:1/runs', 'connect ECONNREFUSED 127.0.0.1:1'],
    ] as const;
    let refusals: string[];
    /** What is logged while both are waited for, at the same time. */
    const logged: string[] = [];
    beforeAll(async () => {
      jest.spyOn(Logger.prototype, 'warn').mockImplementation((text: string) => void logged.push(text));
      refusals = await Promise.all(UNAVAILABLE.map(([, url]) => refusalOf(url(), 1_600)));
      jest.restoreAllMocks();
    });

    it.each(UNAVAILABLE)('if it cannot be %s yet, and the log says why', (what, url, why) => {
      expect(refusals[what === 'used' ? 0 : 1]).toContain('cannot be opened: ');
      expect(logged.filter((text) => text.includes(` ${new URL(url()).host} `))).toEqual([
        `The Postgres server ${new URL(url()).host} cannot be ${what} yet: ${why}. It is tried again until 1600 ms have passed.`,
      ]);
      expect(logged).toHaveLength(UNAVAILABLE.length);
    });
  });
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
    await store.open(eventsOf());
    const { run } = await store.admit(admissionOf());
    await store.end(run, { status: 'completed' }, keptAnswer());
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
