import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import process from 'node:process';

const MAIN = resolve(import.meta.dirname, '../../../dist/main.js');
const AGENT = join(import.meta.dirname, 'agent.mjs');

/** What the service may take to start on a busy machine. */
const START_MS = 60_000;

/** Runs that execute take 10 s of it. */
const STOP_MS = 20_000;

/** The built service with the agent of this folder, in a process of its own. */
export class Service {
  output = '';
  #child;
  #exited;

  /**
   * Starts it. Resolves when it listens.
   *
   * @param variables those of the service; `PORT` is needed
   * @throws Error with its output, if it does not start; `hasEnded` if it has ended by itself
   */
  static async start(variables) {
    const service = new Service(variables);
    const listens = await service.prints(/nest-agent-query listens on/, START_MS);
    if (listens) return service;
    const hasEnded = service.#child.exitCode !== null;
    await service.kill();
    throw Object.assign(new Error(`The service does not start:\n${service.output}`), { hasEnded });
  }

  constructor(variables) {
    const access = { ACCESS: 'open', TRUST_PROXY: 'loopback' };
    const env = { PATH: process.env.PATH, LOG_FORMAT: 'text', DATABASE_URL: 'memory:', AGENT, ...access };
    this.#child = spawn(process.execPath, [MAIN], {
      env: { ...env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.#child, 'exit');
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
  }

  /** Waits until the output has a match. Resolves with whether it comes within a time, while the process executes. */
  async prints(pattern, withinMs) {
    const latest = performance.now() + withinMs;
    while (!pattern.test(this.output) && performance.now() < latest && this.#child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 10));
    return pattern.test(this.output);
  }

  /** Ends the process in order, or at once if it does not end. */
  async stop() {
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    this.#child.kill('SIGTERM');
    await this.#exited;
    clearTimeout(killer);
  }

  /** Ends the process as a crash does. */
  async kill() {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}
