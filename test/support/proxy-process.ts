import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { eventuallyElsewhere } from './conditions.js';
import { freePort } from './free-port.mjs';

/** A proxy in a process of its own. */
export interface RealProxy {
  url: string;
  stop(): Promise<void>;
}

/** How a program is executed. */
interface Program {
  executable: string;
  /** The argument with which it prints its version, and ends. */
  version: string;
  /** The package of Debian that has it. */
  debian: string;
  arguments: (file: string, directory: string, port: number) => string[];
  /** Writes what it needs besides its configuration. */
  prepare?: (directory: string) => Promise<void>;
  /** The signal that ends it at once. By default `SIGTERM`. */
  stop?: NodeJS.Signals;
}

/** Where packages of Debian are, if they are unpacked and not installed: some programs have modules and files beside them. */
export const PACKAGES = process.env['UNPACKED_PACKAGES'] ?? '';

const PROGRAMS = {
  nginx: {
    executable: 'nginx',
    version: '-v',
    debian: 'nginx',
    arguments: (file, directory) => ['-p', directory, '-c', file, '-e', 'stderr'],
  },
  haproxy: {
    executable: 'haproxy',
    version: '-v',
    debian: 'haproxy',
    arguments: (file) => ['-db', '-f', file],
  },
  caddy: {
    executable: 'caddy',
    version: 'version',
    debian: 'caddy',
    arguments: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  apache: {
    executable: 'apache2',
    version: '-v',
    debian: 'apache2-bin',
    arguments: (file) => ['-D', 'FOREGROUND', '-f', file],
  },
  lighttpd: {
    executable: 'lighttpd',
    version: '-v',
    debian: 'lighttpd',
    arguments: (file) => ['-D', '-f', file, '-m', `${PACKAGES}/usr/lib/lighttpd`],
  },
  varnish: {
    executable: 'varnishd',
    version: '-V',
    debian: 'varnish',
    arguments: (file, directory, port) =>
      // It compiles its configuration with the C compiler of the machine. By default it closes a connection whose head is not
      // there after 5 s: a caller of a test may stand still for longer on a busy machine.
      ['-F', '-j', 'none', '-n', directory, '-a', `127.0.0.1:${port}`, '-f', file, '-p', 'timeout_idle=60'],
  },
  squid: {
    executable: 'squid',
    version: '-v',
    debian: 'squid',
    arguments: (file) => ['-N', '-d', '1', '-f', file],
    prepare: async (directory) => {
      await mkdir(join(directory, 'templates'));
      await writeFile(join(directory, 'mime.conf'), '');
    },
  },
  h2o: {
    executable: 'h2o',
    version: '-v',
    debian: 'h2o',
    arguments: (file) => ['-c', file],
    // At SIGTERM it waits for the connections that clients keep.
    stop: 'SIGINT',
  },
  nghttpx: {
    executable: 'nghttpx',
    version: '-v',
    debian: 'nghttp2-proxy',
    arguments: (file) => [`--conf=${file}`, '--errorlog-file=/dev/stderr', '--accesslog-file=/dev/null'],
  },
  trafficserver: {
    executable: 'traffic_server',
    version: '-V',
    debian: 'trafficserver',
    arguments: (_file, directory) => [`--run-root=${join(directory, 'runroot.yaml')}`],
    prepare: (directory) => cp(`${PACKAGES}/etc/trafficserver`, directory, { recursive: true }),
  },
  hitch: {
    executable: 'hitch',
    version: '--version',
    debian: 'hitch',
    arguments: (file) => [`--config=${file}`],
  },
  // It prints no version. Without a server it says how it is used, and ends.
  pen: {
    executable: 'pen',
    version: '-h',
    debian: 'pen',
    arguments: (file, _directory, port) => ['-f', '-F', file, `127.0.0.1:${port}`],
  },
  stunnel: {
    executable: 'stunnel4',
    version: '-version',
    debian: 'stunnel4',
    arguments: (file) => [file],
  },
  tinyproxy: {
    executable: 'tinyproxy',
    version: '-v',
    debian: 'tinyproxy-bin',
    arguments: (file) => ['-d', '-c', file],
  },
  privoxy: {
    executable: 'privoxy',
    version: '--version',
    debian: 'privoxy',
    arguments: (file) => ['--no-daemon', file],
  },
} satisfies Record<string, Program>;

/** A program that tests find by a variable with its path, or else in `PATH`. */
export type ProxyProgram = keyof typeof PROGRAMS;

/** The program: its path in a variable such as `NGINX`, or its name. */
export function pathOf(program: ProxyProgram): string {
  return process.env[program.toUpperCase()] ?? PROGRAMS[program].executable;
}

/** The version of a proxy, such as `1.22.1`, as the program says it, or the package of one that does not. */
export function versionOf(program: ProxyProgram): string {
  const { debian, version } = PROGRAMS[program];
  const said = outputOf(pathOf(program), version);
  return versionIn(program === 'pen' ? changelogOf(debian) : said);
}

/** The version that a program prints. */
export function printedVersion(path: string, argument: string): string {
  return versionIn(outputOf(path, argument));
}

function outputOf(path: string, argument: string): string {
  const { stdout, stderr, error } = spawnSync(path, [argument], { encoding: 'utf8' });
  if (error) throw new Error(`The program ${path} is not on this machine. .ci/unpack DIRECTORY all gets it.`);
  return `${stdout}${stderr}`;
}

function versionIn(text: string): string {
  const [version] = /\d+(?:\.\d+)+/.exec(text) ?? [];
  if (version === undefined) throw new Error(`There is no version in: ${text}`);
  return version;
}

function changelogOf(debian: string): string {
  return gunzipSync(readFileSync(`${PACKAGES}/usr/share/doc/${debian}/changelog.Debian.gz`)).toString();
}

/** Whether a proxy is on this machine. */
export function hasProxy(program: ProxyProgram): boolean {
  return canExecute(pathOf(program), PROGRAMS[program].version);
}

/** A test that needs a proxy. It is skipped where there is none, unless `REQUIRE_PROXIES` is set, as in CI. */
export function withProxy(
  program: ProxyProgram,
  title: string,
  test: () => Promise<void>,
  withinMs?: number,
): void {
  const isRequired = process.env['REQUIRE_PROXIES'] !== undefined;
  const reason =
    program === 'varnish' && !canExecute('cc', '--version')
      ? 'varnish needs a C compiler (cc)'
      : !isRequired && !hasProxy(program) && missing(program);
  if (reason === false) it(title, test, withinMs);
  else it.skip(`${title} [skipped: ${reason}]`, test);
}

function missing(program: ProxyProgram): string {
  return `${program} is not on this machine; it is in the package ${PROGRAMS[program].debian} of Debian`;
}

function canExecute(path: string, argument: string): boolean {
  try {
    execFileSync(path, [argument], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The scheme of a proxy that may have a file of a key and a certificate. */
export function schemeOf(tls: string | undefined): 'http' | 'https' {
  return tls === undefined ? 'http' : 'https';
}

/** What a proxy is started with besides its configuration. */
export interface Surroundings {
  /** `https` if its port expects TLS. By default `http`. */
  scheme?: 'http' | 'https';
  /** Further files in its directory, by their names. */
  files?: (port: number, directory: string) => Record<string, string>;
  /** Variables that its configuration reads. */
  environment?: Record<string, string>;
}

/**
 * Starts a proxy with a whole configuration, and waits until its port accepts connections.
 *
 * @param configuration its file, for the port to listen on, on 127.0.0.1, and for a directory of its own
 * @throws {Error} the program ends, with what it has written
 */
export async function startProxy(
  program: ProxyProgram,
  configuration: (port: number, directory: string) => string,
  { scheme = 'http', files, environment }: Surroundings = {},
): Promise<RealProxy> {
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), `${program}-`));
  // Some programs become another user when they are started as root.
  await chmod(directory, 0o755);
  const { arguments: argumentsOf, prepare, stop = 'SIGTERM' }: Program = PROGRAMS[program];
  await prepare?.(directory);
  const all = { 'proxy.conf': configuration(port, directory), ...files?.(port, directory) };
  for (const [name, text] of Object.entries(all)) await writeFile(join(directory, name), text);
  const child = spawn(pathOf(program), argumentsOf(join(directory, 'proxy.conf'), directory, port), {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Caddy keeps files in these two.
    env: { ...process.env, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory, ...environment },
  });
  let errors = '';
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()));
  try {
    await eventuallyElsewhere(() => {
      if (child.exitCode !== null) throw new Error(`${program} ended:\n${errors}`);
      return accepts(port);
    });
  } catch (error) {
    await rm(directory, { recursive: true });
    throw error;
  }
  return { url: `${scheme}://127.0.0.1:${port}`, stop: () => end(child, stop, directory) };
}

async function end(child: ChildProcess, signal: NodeJS.Signals, directory: string): Promise<void> {
  child.kill(signal);
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  await rm(directory, { recursive: true });
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
