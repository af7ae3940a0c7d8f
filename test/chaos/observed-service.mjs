/** A service in a process of its own, whose memory, descriptors and files are looked at from outside. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** How long the service may take to come to rest. */
const REST_MS = 60_000;
const LOOK_MS = 20;

/** What Node itself prints when objects are counted. */
const EXPECTED_OUTPUT = /ExperimentalWarning: v8\.queryObjects|Use `node --trace-warnings/;

export class ObservedService {
  /** Lines that the service has written to its error output, where its warnings and errors go. */
  lines = [];
  #waiting = new Map();
  #lastId = 0;
  #rest = '';

  constructor(child, spoolDirectory) {
    this.child = child;
    this.spoolDirectory = spoolDirectory;
    this.exited = once(child, 'exit');
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text) => {
        const lines = (this.#rest + text).split('\n');
        this.#rest = lines.pop();
        this.lines.push(...lines.filter((line) => line !== '' && !EXPECTED_OUTPUT.test(line)));
      });
    }
    child.on('message', ({ id, answer }) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    });
  }

  /** Starts a service. `settings` are the adapter, the database, its retention, and the options of the module. */
  static async start(settings, spoolDirectory) {
    const child = fork(join(import.meta.dirname, 'observed-server.mjs'), {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const service = new ObservedService(child, spoolDirectory);
    child.send({ ...settings, options: { ...settings.options, spoolDirectory } });
    const began = await Promise.race([once(child, 'message'), service.exited.then(() => undefined)]);
    if (!began) throw new Error(`The service does not start.\n${service.lines.join('\n')}`);
    service.port = began[0].port;
    return service;
  }

  get isAlive() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** @param collect whether to collect garbage first */
  report(collect = false) {
    return this.#ask({ name: 'report', collect });
  }

  /** How many objects of these classes there are: of `Run`, `Runner` and `SseResponse`. Takes some seconds. */
  objects(...names) {
    return this.#ask({ name: 'objects', names });
  }

  /** Lets the store drop what is older than its retention. */
  sweep() {
    return this.#ask({ name: 'sweep' });
  }

  /** Lets a Postgres database use the space of deleted rows again. */
  vacuum() {
    return this.#ask({ name: 'vacuum' });
  }

  /** What the database of a durable store has. */
  stored() {
    return this.#ask({ name: 'stored' });
  }

  async close() {
    if (!this.isAlive) return;
    await this.#ask({ name: 'close' });
    await this.exited;
  }

  /** How many descriptors the process has open: sockets, files and what Node itself needs. */
  async descriptors() {
    return (await readdir(`/proc/${this.child.pid}/fd`)).length;
  }

  /** How many files the spool has. */
  async spooled() {
    const files = await readdir(this.spoolDirectory, { recursive: true, withFileTypes: true });
    return files.filter((file) => file.isFile()).length;
  }

  /** Waits until a condition holds for what the service has open, and returns that. */
  async until(condition) {
    const deadline = Date.now() + REST_MS;
    for (;;) {
      const { load, counts } = await this.report();
      const open = {
        ...load,
        handling: counts.handling,
        unended: counts.admitted - counts.ended,
        descriptors: await this.descriptors(),
        spooled: await this.spooled(),
      };
      if (condition(open) || Date.now() > deadline) return open;
      await delay(LOOK_MS);
    }
  }

  #ask(request) {
    const id = ++this.#lastId;
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.child.send({ ...request, id });
    const ended = this.exited.then(([code, signal]) => {
      throw new Error(`The service has ended (${signal ?? code}).\n${this.lines.join('\n')}`);
    });
    return Promise.race([answer, ended]);
  }
}
