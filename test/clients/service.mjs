import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import process from 'node:process';

const MAIN = resolve(import.meta.dirname, '../../dist/main.js');
const AGENT = join(import.meta.dirname, 'agent.mjs');

/** What the service may take to start on a busy machine. */
const START_MS = 60_000;

/** The key that clients have, and what the service knows of it. */
export const KEY = 'naq_T--1j9cIQEWxWrtNKA2p3Ch-kPu3Iib_OK1eEdViWQA';
const API_KEYS = 'clients:e9dc3133e4da67b7ef1608bb2470a74442b8c9a48c5a6835b4653546bb1a5775';

/** The built service in a process of its own, with its defaults: with the agent of this folder, unless another is named. */
export class Service {
  url;
  output = '';
  #child;
  #told = [];

  /**
   * @param variables what it has besides its defaults
   * @throws Error with its output, if it does not listen
   */
  static async start(variables = { API_KEYS, AGENT }) {
    const service = new this(variables);
    const latest = performance.now() + START_MS;
    while (performance.now() < latest && service.#child.exitCode === null) {
      service.url = /listens on (http:\/\/[^\s"]+)/.exec(service.output)?.[1];
      if (service.url) return service;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await service.stop();
    throw new Error(`The service does not start:\n${service.output}`);
  }

  constructor(variables) {
    const { PATH } = process.env;
    const env = { PATH, LOG_FORMAT: 'text', DATABASE_URL: 'memory:', PORT: '0', ...variables };
    this.#child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    this.#child.on('message', (told) => this.#told.push(told));
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
  }

  /** What the agent has told of a case: `begun`, `aborted`, `read`, `turned` or `ended`. */
  told(what, id) {
    return this.#told.filter((each) => each.what === what && each.id === id);
  }

  /** Lets the runs of a case go on. */
  open(id) {
    this.#child.send({ open: id });
  }

  async stop() {
    if (this.#child.exitCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
