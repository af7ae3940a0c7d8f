import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';

/** What a service prints that cannot start, and its exit code. */
export interface Refusal {
  message: string;
  exitCode: number;
}

interface Answer {
  number: number;
  url?: string;
  routes?: string[];
  refusal?: Refusal;
}

type Request = { started: object } | { stopped: number } | { stopped: 'all' };

/**
 * The process of `services.mjs`, which executes the services that need no process of their own: those of one suite after
 * another, because it takes seconds to load what a service needs. It ends with the process of the suites.
 */
export class ServicesProcess {
  static #shared: ServicesProcess | undefined;

  output = '';
  readonly #child = fork(join(import.meta.dirname, '../services.mjs'), {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {},
    execArgv: [],
  });
  readonly #exited = once(this.#child, 'exit').then(() => (ServicesProcess.#shared = undefined));
  #count = 0;
  readonly #waiting = new Map<number, (answer: Answer) => void>();

  private constructor() {
    const read = (chunk: Buffer) => (this.output += chunk.toString());
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.on('data', read);
      // The suite that starts it has not left it behind.
      (stream as Socket).unref();
    }
    this.#child.on('message', (answer: Answer) => this.#waiting.get(answer.number)!(answer));
    this.#child.unref();
    this.#child.channel!.unref();
  }

  static shared(): ServicesProcess {
    return (this.#shared ??= new ServicesProcess());
  }

  /** Stops the services that a suite has left. */
  static async endSuite(): Promise<void> {
    const shared = this.#shared;
    if (!shared) return;
    await shared.do({ stopped: 'all' });
    shared.output = '';
    // Each suite has this class anew then.
    if (process.env['ISOLATED']) shared.#child.disconnect();
  }

  /** Lets the process do something. Rejects if it ends instead. */
  async do(request: Request): Promise<Answer> {
    const number = ++this.#count;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(number, resolve));
    this.#child.send({ number, ...request });
    const ended = this.#exited.then(() => Promise.reject(new Error(this.output)));
    return Promise.race([answered, ended]).finally(() => this.#waiting.delete(number));
  }
}
