import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { eventuallyElsewhere } from './conditions.js';
import { freePort } from './free-port.mjs';

/** Who has a server connection of PgBouncer, and for how long. */
export type PoolMode = 'session' | 'transaction' | 'statement';

/** PgBouncer in a process of its own, before a Postgres server. */
export interface PgBouncer {
  /** The URL of the database of the server, through PgBouncer. */
  url: string;
  /** Executes a command of its console, such as `show pools`. */
  administer(command: string): Promise<Record<string, unknown>[]>;
  /** Ends it, which cuts all connections. */
  stop(): Promise<void>;
  /** Starts it again after `stop`, on the same port, perhaps in another mode. */
  start(mode?: PoolMode): Promise<void>;
  /** Ends it, and removes its files. */
  close(): Promise<void>;
}

/** The program: its path in the variable `PGBOUNCER`, or its name. */
const PROGRAM = process.env['PGBOUNCER'] ?? 'pgbouncer';

/** Tests that need PgBouncer. They are skipped where it is not, unless `REQUIRE_PROXIES` is set, as in CI. */
export function describeWithPgBouncer(title: string, tests: () => void): void {
  if (process.env['REQUIRE_PROXIES'] !== undefined || hasPgBouncer()) describe(title, tests);
  else
    describe.skip(
      `${title} [skipped: pgbouncer is not on this machine; it is in the package pgbouncer of Debian]`,
      tests,
    );
}

function hasPgBouncer(): boolean {
  try {
    execFileSync(PROGRAM, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts PgBouncer with what it has by default, and these settings.
 *
 * @param server the URL of a database on a server that trusts its clients
 * @param mode its `pool_mode`
 * @param settings further lines of its section `[pgbouncer]`
 * @param users a line for each user that it knows: name and password in quotes
 */
export async function startPgBouncer(
  server: string,
  mode: PoolMode,
  settings: string[] = [],
  users = ['"test" ""'],
): Promise<PgBouncer> {
  const { hostname, port: serverPort, pathname } = new URL(server);
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  const linesOf = (poolMode: PoolMode) => [
    '[databases]',
    `* = host=${hostname} port=${serverPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(directory, 'users')}`,
    'admin_users = test',
    `pool_mode = ${poolMode}`,
    // It refuses to be root, and reads its files before it becomes another user.
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
    ...settings,
  ];
  await writeFile(join(directory, 'users'), `${users.join('\n')}\n`);
  const urlOf = (path: string) => `postgres://test@127.0.0.1:${port}${path}`;
  const launch = async (poolMode: PoolMode) => {
    await writeFile(join(directory, 'pgbouncer.ini'), `${linesOf(poolMode).join('\n')}\n`);
    const child = spawn(PROGRAM, [join(directory, 'pgbouncer.ini')], { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()));
    await eventuallyElsewhere(() => {
      if (child.exitCode !== null) throw new Error(`PgBouncer ended:\n${log}`);
      return log.includes('process up');
    });
    return child;
  };
  let child = await launch(mode);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  };
  return {
    url: urlOf(pathname),
    administer: async (command) => {
      const client = new pg.Client({ connectionString: urlOf('/pgbouncer') });
      await client.connect();
      const { rows } = await client.query<Record<string, unknown>>(command);
      await client.end();
      return rows;
    },
    stop,
    start: async (poolMode = mode) => {
      child = await launch(poolMode);
    },
    close: async () => {
      await stop();
      await rm(directory, { recursive: true });
    },
  };
}
