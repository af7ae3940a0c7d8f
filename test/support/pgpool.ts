import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { eventuallyElsewhere } from './conditions.js';
import { freePort } from './free-port.mjs';
import type { PgBouncer } from './pgbouncer.js';
import { PACKAGES } from './proxy-process.js';

/**
 * Starts pgpool-II with the settings of Debian, before one server.
 *
 * @param server the URL of a database on a server that trusts its clients
 * @param settings further lines of its file
 */
export async function startPgpool(
  server: string,
  settings: readonly string[] = [],
): Promise<Omit<PgBouncer, 'administer'>> {
  const { hostname, port: serverPort, pathname } = new URL(server);
  const [port, administration] = [await freePort(), await freePort()];
  const directory = await mkdtemp(join(tmpdir(), 'pgpool-'));
  const lines = [
    ...["listen_addresses = '127.0.0.1'", `port = ${port}`, `socket_dir = '${directory}'`],
    ...[
      "pcp_listen_addresses = '127.0.0.1'",
      `pcp_port = ${administration}`,
      `pcp_socket_dir = '${directory}'`,
    ],
    ...[`backend_hostname0 = '${hostname}'`, `backend_port0 = ${serverPort}`, 'backend_weight0 = 1'],
    ...[`pid_file_name = '${directory}/pid'`, `logdir = '${directory}'`, `work_dir = '${directory}'`],
    ...["sr_check_user = 'test'", 'enable_pool_hba = off', ...settings],
  ];
  await writeFile(join(directory, 'pgpool.conf'), `${debian('pgpool.conf')}\n${lines.join('\n')}\n`);
  await writeFile(join(directory, 'pcp.conf'), '');
  const url = `postgres://test@127.0.0.1:${port}${pathname}`;
  const files = { f: 'pgpool.conf', F: 'pcp.conf' };
  const parameters = Object.entries(files).flatMap(([option, file]) => [`-${option}`, join(directory, file)]);
  const launch = async () => {
    const child = spawn('pgpool', ['-n', ...parameters], { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr.on('data', (bytes: Buffer) => (log += bytes.toString()));
    await eventuallyElsewhere(async () => {
      if (child.exitCode !== null) throw new Error(`pgpool ended:\n${log}`);
      // It says that it has started before the processes have that take connections.
      return log.includes('successfully started') && (await answers(url));
    });
    return child;
  };
  let child = await launch();
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    // It cuts all connections. With SIGTERM it waits until they end.
    child.kill('SIGINT');
    await exited;
  };
  return {
    url,
    stop,
    start: async () => {
      child = await launch();
    },
    close: async () => {
      await stop();
      await rm(directory, { recursive: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}

/** A file of the package. */
function debian(name: string): string {
  const paths = [`${PACKAGES}/usr/share/pgpool2/${name}`, `/etc/pgpool2/${name}`];
  return readFileSync(paths.find((path) => existsSync(path)) ?? paths[0]!, 'utf8');
}
