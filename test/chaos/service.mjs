import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** What the service logs only if it has a defect. */
const DEFECTS =
  /A request failed|unhandled|TypeError|ReferenceError|RangeError|unexpected error|its end could not be stored|cannot be stored/i;

/** How long the service may take to start, or to say why it does not. */
const START_MS = 30_000;

/** The line of an output that says where the service listens; undefined at its end. Nest may write warnings before it. */
export function addressIn(output) {
  return new Promise((resolve) => {
    const lines = createInterface(output);
    lines
      .on('line', (line) => line.startsWith('http') && resolve(line))
      .once('close', () => resolve(undefined));
  });
}

/** The service (`server.mjs`) in a process of its own. */
export class Service {
  /** What it has logged. */
  log = '';
  #exited;

  constructor(child) {
    this.child = child;
    this.#exited = once(child, 'exit');
    child.stderr.setEncoding('utf8').on('data', (text) => (this.log += text));
    // Nest writes warnings to the standard output.
    child.stdout.on('data', (text) => (this.log += text));
  }

  /**
   * Starts the service. Resolves when it listens.
   *
   * @param options those of `openStore`
   * @throws Error with what the service has logged, if it does not start
   */
  static async start(database, options = {}, env = {}) {
    const program = join(import.meta.dirname, 'server.mjs');
    const child = spawn(process.execPath, [program, database, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    const service = new Service(child);
    const line = await Promise.race([
      addressIn(child.stdout),
      service.#exited.then(() => undefined),
      delay(START_MS, undefined, { ref: false }),
    ]);
    if (!line) {
      await service.end('SIGKILL');
      throw new Error(`The service does not start:\n${service.log}`);
    }
    service.base = line;
    service.url = `${line}/query`;
    return service;
  }

  get isRunning() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The lines of the log that only a defect causes. */
  get defects() {
    return this.log.split('\n').filter((line) => DEFECTS.test(line));
  }

  async end(signal) {
    this.child.kill(signal);
    await this.#exited;
  }
}
