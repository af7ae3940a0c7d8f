import { Logger } from '@nestjs/common';
import { INTERRUPTED } from '../contract/envelopes.js';
import type { RunRecord, RunStore, StoredRun } from '../ports/run-store.js';
import { ModuleStore } from './module-store.js';
import { ownerOfModule } from './owners.js';

/** What the store calls for a run that must be executed: see `RunStore.recover`. */
type Execute = (stored: StoredRun) => void;

/** A module that uses the store. */
interface Member {
  /** Undefined until the module has started. */
  execute: Execute | undefined;
  /** The runs that were recovered before. */
  held: StoredRun[];
}

/**
 * A store that modules of one application share. It is recovered once and closed once, and each recovered run is executed by the
 * module that has admitted it.
 */
export class SharedStore {
  static readonly #ofApplications = new WeakMap<object, Map<RunStore, SharedStore>>();
  readonly #logger = new Logger('QueryModule');
  readonly #members = new Map<string, Member>();
  /** The names of the modules that have started, and have not closed the store. */
  readonly #open = new Set<string>();
  #recovered: Promise<void> | undefined;

  private constructor(private readonly store: RunStore) {}

  /** @param application any object that stands for the application */
  static of(application: object, store: RunStore): SharedStore {
    const stores = this.#ofApplications.get(application) ?? new Map<RunStore, SharedStore>();
    this.#ofApplications.set(application, stores);
    const shared = stores.get(store) ?? new SharedStore(store);
    stores.set(store, shared);
    return shared;
  }

  /**
   * Returns the store as one module sees it: with its own runs only.
   *
   * @param name the name of the module; empty for the module without a name
   * @throws {TypeError} another module of this name uses the store
   */
  join(name: string): RunStore {
    if (this.#members.has(name)) {
      const modules = name === '' ? 'Two modules without a name' : `Two modules with the name "${name}"`;
      throw new TypeError(
        `QueryModule: ${modules} have the same store. Give each a name of its own, or a store of its own.`,
      );
    }
    this.#members.set(name, { execute: undefined, held: [] });
    return new ModuleStore(this.store, name, {
      recover: (execute) => this.#recover(name, execute),
      close: () => this.#close(name),
    });
  }

  async #recover(name: string, execute: Execute): Promise<void> {
    const member = this.#members.get(name)!;
    member.execute = execute;
    this.#open.add(name);
    for (const stored of member.held.splice(0)) execute(stored);
    await (this.#recovered ??= Promise.resolve(this.store.recover((stored) => this.#execute(stored))));
  }

  /** The last module closes the store. */
  async #close(name: string): Promise<void> {
    this.#open.delete(name);
    if (this.#open.size === 0) await this.store.close();
  }

  #execute(stored: StoredRun): void {
    const { module } = ownerOfModule(stored.run.owner);
    const member = this.#members.get(module);
    if (!member) void this.#interrupt(stored.run, module);
    else if (member.execute) member.execute(stored);
    else member.held.push(stored);
  }

  /** Another module must not execute the run, and a run that nobody executes would block its session. */
  async #interrupt(run: RunRecord, module: string): Promise<void> {
    const name = module === '' ? 'without a name' : `with the name ${JSON.stringify(module)}`;
    this.#logger.warn(
      `Run ${run.id} was admitted by a module ${name}, which this application does not have with this store. It is ended ` +
        'as interrupted.',
    );
    try {
      await this.store.finish(run, INTERRUPTED, '');
    } catch (error) {
      this.#logger.error(`Run ${run.id} could not be ended.`, (error as Error).stack);
    }
  }
}
