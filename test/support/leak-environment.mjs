import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';
import { LeakCheck } from './leak-check.mjs';

/** How long what a suite has closed may take to be gone. */
const DEADLINE_MS = 10_000;

/** What the current suite has stored something in. */
const storages = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...parameters) {
  storages.add(this);
  return run.apply(this, parameters);
};

/** Jest's environment for Node, which fails each suite that leaves something open. */
export default class LeakEnvironment extends TestEnvironment {
  #check = new LeakCheck();

  async setup() {
    await super.setup();
    await this.#check.start();
  }

  async teardown() {
    this.#check.stop();
    // Jest has one for each suite, and leaves it. Before Node 24, each of them makes every promise of later suites slower.
    for (const storage of storages) storage.disable();
    storages.clear();
    await super.teardown();
  }

  /** Jest waits for this; `run_finish` comes after the last hook of the suite. */
  async handleTestEvent({ name }, state) {
    if (name !== 'run_finish') return;
    const leaks = await this.#check.leaksAfter(DEADLINE_MS);
    if (leaks.length === 0) return;
    const error = new Error(`This suite leaves behind: ${leaks.join(', ')}.`);
    error.stack = error.message;
    // Thrown, it would hide the results of the tests.
    state.unhandledErrors.push(error);
  }
}
