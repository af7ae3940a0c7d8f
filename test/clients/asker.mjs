import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';

const PROGRAM = join(import.meta.dirname, 'client-process.mjs');

/** What a client may take to load on a busy machine. */
const LOAD_MS = 60_000;

/** A client in a process of its own. */
export class Asker {
  /** What the module of the client can show. */
  can;
  /** Rejections that nobody has handled. */
  unhandled = [];
  #child;
  output = '';
  #answers = new Map();

  /**
   * @param module the path of its module
   * @param options what its module gets
   * @param execPath the program of Node
   * @throws Error with its output, if it does not load
   */
  static async start(module, options, execPath) {
    const asker = new Asker([module, JSON.stringify(options)], execPath);
    await Promise.race([
      asker.#loaded,
      once(asker.#child, 'exit'),
      new Promise((resolve) => setTimeout(resolve, LOAD_MS).unref()),
    ]);
    if (asker.can) return asker;
    await asker.stop();
    throw new Error(`It does not load:\n${asker.output}`);
  }

  #loaded;

  constructor(parameters, execPath) {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_NO_WARNINGS: '1' };
    const stdio = ['ignore', 'pipe', 'pipe', 'ipc'];
    this.#child = fork(PROGRAM, parameters, { env, stdio, execPath, execArgv: [] });
    this.#loaded = new Promise((resolve) => {
      this.#child.on('message', (told) => {
        this.#hear(told);
        resolve();
      });
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
    this.#child.once('exit', () => {
      for (const answer of this.#answers.values())
        answer.end ??= { error: `The process has ended: ${this.output.slice(-500)}`, isDead: true };
    });
  }

  /**
   * Asks. Whoever reads the answer waits for what it needs of it.
   *
   * @returns `pieces` that were shown, and `end` when it has ended: `{ text, usage }` or `{ error }`
   */
  ask(order) {
    const number = this.#answers.size;
    const answer = { pieces: [], end: undefined, abort: () => this.#send({ number, abort: true }) };
    this.#answers.set(number, answer);
    this.#send({ number, order });
    return answer;
  }

  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  #send(order) {
    if (this.#child.connected) this.#child.send(order);
  }

  #hear({ can, unhandled, number, text, end }) {
    if (can) this.can = can;
    else if (unhandled !== undefined) this.unhandled.push(unhandled);
    else if (text !== undefined) this.#answers.get(number).pieces.push(text);
    else this.#answers.get(number).end = end;
  }
}
