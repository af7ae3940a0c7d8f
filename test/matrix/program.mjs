import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';

/** The longest time to wait for what a program prints. */
const WAIT_MS = 120_000;

/** A program that executes until it is ended, with the processes that it starts. */
export class Program {
  output = '';
  #child;
  #ended;

  /** @param options `cwd` and `env`, as `spawn` takes them */
  constructor(command, parameters, options) {
    // A group of its own: npx and nest start further processes.
    this.#child = spawn(command, parameters, {
      ...options,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#ended = once(this.#child, 'close');
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
  }

  /**
   * Waits until the program prints something.
   *
   * @param from how many characters of its output do not count
   * @throws Error if it ends, or does not print this in time
   */
  async prints(pattern, from = 0) {
    const signal = AbortSignal.timeout(WAIT_MS);
    for (;;) {
      const match = pattern.exec(this.output.slice(from));
      if (match) return match;
      const printed = once(this.#child.stdout, 'data', { signal });
      const ended = this.#ended.then(() => Promise.reject(new Error('The program has ended.')));
      await Promise.race([printed, ended]);
    }
  }

  /**
   * Does something with the program, and ends it with all its processes.
   *
   * @param isWhole false: only the process that was started gets the signal
   * @returns the exit code and the signal of its end
   * @throws Error with the output of the program, if the work fails
   */
  async during(work, isWhole = true) {
    try {
      await work(this);
      process.kill(isWhole ? -this.#child.pid : this.#child.pid, 'SIGTERM');
      return await this.#ended;
    } catch (error) {
      throw new Error(`${error.message}\n${this.output}`, { cause: error });
    } finally {
      if (this.#child.exitCode === null && this.#child.signalCode === null)
        process.kill(-this.#child.pid, 'SIGKILL');
      await this.#ended;
    }
  }
}
