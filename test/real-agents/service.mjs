import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { freePort } from '../support/free-port.mjs';
import { MARK } from './processes.mjs';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');

/** What the service may take to start on a busy machine, with the start of the agent that it tries. */
const START_MS = 60_000;

/** Two owners: what each sends, and what the service knows of it. */
export const OWNERS = {
  anna: 'naq_T--1j9cIQEWxWrtNKA2p3Ch-kPu3Iib_OK1eEdViWQA',
  ben: 'naq_a9HqLVLJkCikPzIt1M2P9L4mL_0NgSJ2ZyqCkLBi0lw',
};
const API_KEYS = [
  'anna:e9dc3133e4da67b7ef1608bb2470a74442b8c9a48c5a6835b4653546bb1a5775',
  'ben:70de4a3dcfb63cf01e97816017103bbd81e801f4f08d1a0c8892a32d6a5fcaf5',
].join(',');

/** The built service with an agent, in a process of its own, with its defaults. It can be killed and started again. */
export class Service {
  output = '';
  /** Whether it was stopped for good. */
  isOver = false;
  #env;
  #child;

  static async start(program, folder, mark) {
    await mkdir(folder, { recursive: true });
    const service = new Service(program, folder, mark, await freePort());
    await service.start();
    return service;
  }

  constructor(program, folder, mark, port) {
    this.url = `http://127.0.0.1:${port}`;
    this.directory = join(folder, 'agent');
    this.#env = {
      PATH: process.env.PATH,
      LOG_FORMAT: 'text',
      DATABASE_URL: `file:${join(folder, 'runs.db')}`,
      PORT: String(port),
      API_KEYS,
      ...(program.module ? ofModule : ofCommand)(program, this.directory, mark),
    };
  }

  /** @throws Error with its output, if it does not listen */
  async start() {
    this.#child = spawn(process.execPath, [MAIN], { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        this.output += text;
      });
    const latest = performance.now() + START_MS;
    while (performance.now() < latest && this.#child.exitCode === null) {
      if (output.includes('listens on')) return;
      await new Promise((done) => setTimeout(done, 20));
    }
    await this.kill();
    throw new Error(`The service does not start:\n${output}`);
  }

  kill() {
    return this.#end('SIGKILL');
  }

  stop() {
    this.isOver = true;
    return this.#end('SIGTERM');
  }

  async #end(signal) {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    const killing = setTimeout(() => this.#child.kill('SIGKILL'), START_MS);
    await exited;
    clearTimeout(killing);
  }
}

/** The variables by which the service executes an agent that speaks ACP. */
function ofCommand({ command, env, authMethod = '', mode = '' }, directory, mark) {
  return {
    AGENT: 'acp',
    ACP_COMMAND: command.map((word) => `'${word}'`).join(' '),
    ...env,
    ACP_ENV: [...Object.keys(env), `${MARK}=${mark}`].join(','),
    ACP_AUTH_METHOD: authMethod,
    ACP_MODE: mode,
    ACP_DIRECTORY: directory,
  };
}

/** The variables by which it loads a handler, which reads `REAL_AGENT`. */
function ofModule({ module, env }, directory, mark) {
  const REAL_AGENT = JSON.stringify({ directory, env: { ...env, [MARK]: mark } });
  return { AGENT: module, REAL_AGENT };
}
