import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Deferred, deferred } from '../../support/conditions.js';
import type { Commands } from './host-process.js';
import type { Settings, StoreName } from './settings.js';

/** Where a store keeps what it keeps. */
export interface StoreAddress {
  name: StoreName;
  /** The path of the file, or the URL of the server. */
  url?: string;
  schema?: string;
}

/** What a host is opened with. */
export interface HostOptions {
  settings: Settings;
  store: StoreAddress;
  spoolDirectory: string;
  /** How far the clock of the host is ahead, in milliseconds. */
  clockOffset: number;
}

/** What a handler was called with. */
export interface CallReport {
  text: string;
  /** The content of the file of the query. */
  file: string | undefined;
  /** The runs of the turns of the session. */
  turns: string[] | undefined;
}

/** What the process of a host tells. */
export type Message =
  | { ready: true }
  | { id: number; value: unknown }
  | { id: number; error: string }
  | { called: string; call: CallReport };

type Value<K extends keyof Commands> = Awaited<ReturnType<Commands[K]>>;

/** A host in a process of its own. */
export class Host {
  /** The calls of handlers by the id of their run. */
  readonly calls = new Map<string, CallReport>();
  readonly #answers = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  readonly #ready: Deferred = deferred();
  #nextId = 1;

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (message: Message) => this.#take(message));
    child.once('exit', (code, signal) => {
      for (const { reject } of this.#answers.values())
        reject(new Error(`The host ended: ${signal ?? code}.`));
    });
  }

  static async start(): Promise<Host> {
    const host = new Host(fork(join(import.meta.dirname, 'host-process.mjs')));
    await host.#ready.promise;
    return host;
  }

  /** Executes a command in the process of the host. */
  tell<K extends keyof Commands>(name: K, ...args: Parameters<Commands[K]>): Promise<Value<K>> {
    const id = this.#nextId++;
    return new Promise<Value<K>>((resolve, reject) => {
      this.#answers.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.child.send({ id, name, args });
    });
  }

  /** Ends the process at once. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }

  #take(message: Message): void {
    if ('ready' in message) return this.#ready.resolve();
    if ('called' in message) return void this.calls.set(message.called, message.call);
    const answer = this.#answers.get(message.id)!;
    this.#answers.delete(message.id);
    if ('error' in message) answer.reject(new Error(message.error));
    else answer.resolve(message.value);
  }
}
