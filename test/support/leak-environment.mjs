import { AsyncLocalStorage } from 'node:async_hooks';
import process from 'node:process';
import { TestEnvironment } from 'jest-environment-node';
import { LeakCheck } from './leak-check.mjs';

/** How long what a suite has closed may take to be gone. */
const DEADLINE_MS = 10_000;

/** What the current suite has stored something in. */
const storages = new Set();
const { run } = AsyncLocalStorage.prototype;
/** Before Node 24, each storage in use makes every promise slower. */
AsyncLocalStorage.prototype.run = function (...parameters) {
  const [store, callback] = parameters;
  // By this, Jest says which test has left a rejected promise. Without it, the whole suite fails. It takes 7 % of the time of all tests.
  if (store?.test || store?.hook) return callback();
  storages.add(this);
  return run.apply(this, parameters);
};

/** Where Jest keeps what listens to the events of a suite. */
const HANDLERS = Symbol.for('EVENT_HANDLERS');

/** That of all suites of the process, whose modules are kept: `shared-runtime.cjs`. */
let shared;

/** Jest's environment for Node, which fails each suite that leaves something open. */
export default class LeakEnvironment extends TestEnvironment {
  #check = new LeakCheck();
  #restore;
  #variables;

  constructor(...parameters) {
    const [{ projectConfig }] = parameters;
    const isIsolated = process.env['ISOLATED'] || projectConfig.testEnvironmentOptions['isIsolated'];
    if (shared && !isIsolated) return shared;
    super(...parameters);
    if (!isIsolated) shared = this;
  }

  /** Whether the suite has the globals and modules of others. */
  get isShared() {
    return this === shared;
  }

  async setup() {
    await super.setup();
    const { env } = this.global.process;
    this.#variables = { ...env };
    this.#restore = [this.global, this.global.process, env].map(restorerOf);
    await this.#check.start();
  }

  async teardown() {
    this.#check.stop();
    for (const storage of storages) storage.disable();
    storages.clear();
    if (!this.isShared) return super.teardown();
    this.fakeTimers.useRealTimers();
    this.fakeTimersModern.useRealTimers();
    for (const restore of this.#restore) restore();
    const { env } = this.global.process;
    for (const name of Object.keys(env)) if (!(name in this.#variables)) delete env[name];
    delete this.global[HANDLERS];
  }

  /** Jest waits for this; `run_finish` comes after the last hook of the suite. */
  async handleTestEvent({ name }, state) {
    if (name !== 'run_finish') return;
    const leaks = await this.#check.leaksAfter(DEADLINE_MS);
    if (leaks.length === 0) return;
    this.#check.endChildren();
    const error = new Error(`This suite leaves behind: ${leaks.join(', ')}.`);
    error.stack = error.message;
    // Thrown, it would hide the results of the tests.
    state.unhandledErrors.push(error);
  }
}

/** Returns a function that gives an object the values that it has now. What is added stays: modules that are kept need it. */
function restorerOf(object) {
  const before = Object.getOwnPropertyDescriptors(object);
  return () => {
    for (const key of Reflect.ownKeys(before))
      if (Object.getOwnPropertyDescriptor(object, key)?.value !== before[key].value)
        Object.defineProperty(object, key, before[key]);
  };
}
