import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FieldError, InputRequest } from 'nest-agent-query-client';
import { CODE_FOLDER } from '../platform/code-folder.cjs';
import type { Clock } from '../platform/clock.js';

/** How long one check may compute, in milliseconds. */
const CHECK_MS = 2_000;

/** How much memory a check may take, in MiB. */
const CHECK_MIB = 128;

/** What a check has found. */
export interface Checked {
  /** What is wrong with the schema; undefined if nothing is. */
  invalid?: string;
  /** What is wrong with the value, with pointers that begin at it. Not empty where it could not be checked. */
  faults: FieldError[];
}

/** Checks a JSON Schema, and a value against it; without a value only the schema. */
export type SchemaCheck = (schema: NonNullable<InputRequest['schema']>, value?: unknown) => Promise<Checked>;

const TOO_LONG: Checked = {
  invalid: 'it takes too long to check',
  faults: [{ pointer: '', detail: 'takes too long to check: send a shorter one' }],
};

/**
 * Checks values against JSON Schemas, one at a time, in a thread (`schema-worker.js`). So a check that takes long holds up no
 * request, and is ended. The thread starts with the first check.
 */
export class SchemaChecks {
  #thread: Promise<Worker> | undefined;
  /** What the next message of the thread is for; undefined if it has ended. */
  #tell: (message: unknown) => void = () => undefined;
  /** The last check of each owner that waits, and of all. */
  readonly #lines = new Map<string | undefined, Promise<unknown>>();

  constructor(private readonly clock: Clock) {}

  /** The checks of an owner. Of these, one is in line at a time: an owner with many does not hold up the others. */
  of(owner: string): SchemaCheck {
    return (...given) => this.#inLine(owner, () => this.#inLine(undefined, () => this.#check(given)));
  }

  async close(): Promise<void> {
    const thread = await this.#thread?.catch(() => undefined);
    await thread?.terminate();
  }

  async #inLine<T>(line: string | undefined, work: () => Promise<T>): Promise<T> {
    const before = this.#lines.get(line);
    const done = before ? before.then(work) : work();
    const settled = done.catch(() => undefined);
    this.#lines.set(line, settled);
    try {
      return await done;
    } finally {
      if (this.#lines.get(line) === settled) this.#lines.delete(line);
    }
  }

  async #check(given: Parameters<SchemaCheck>): Promise<Checked> {
    const thread = await (this.#thread ??= this.#start());
    const checked = this.#message();
    // As JSON: what is no JSON cannot be sent, and is not kept either.
    thread.postMessage(JSON.stringify(given));
    let ended: Promise<unknown> | undefined;
    const timer = this.clock.startComputing('schemaMs', CHECK_MS, () => void (ended = thread.terminate()));
    const result = await checked;
    this.clock.stop(timer);
    // A result may still come while the thread ends: it is too late, and the next check needs another thread.
    await ended;
    return ended || result === undefined ? TOO_LONG : (result as Checked);
  }

  async #start(): Promise<Worker> {
    const resourceLimits = { maxOldGenerationSizeMb: CHECK_MIB };
    const thread = new Worker(join(CODE_FOLDER, 'query/runs/schema-worker.js'), { resourceLimits });
    let failure: Error | undefined;
    const ready = this.#message();
    thread.on('message', (message) => this.#tell(message));
    thread.on('error', (error) => (failure = error));
    thread.on('exit', () => {
      this.#thread = undefined;
      this.#tell(undefined);
    });
    // An open module does not prevent the process from ending.
    thread.unref();
    if (!(await ready))
      throw new Error('The thread that checks answers has not started.', { cause: failure });
    return thread;
  }

  /** What the thread says next; undefined if it ends. */
  #message(): Promise<unknown> {
    return new Promise((resolve) => (this.#tell = resolve));
  }
}
