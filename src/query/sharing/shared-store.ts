import type { AgentHandler } from '../ports/agent-handler.js';
import type { StoreHost, RunRecord, RunStore } from '../ports/run-store.js';
import type { SignalReceiver } from '../ports/other-processes.js';
import type { Webhooks } from '../options/webhook-options.js';
import { overriding } from '../platform/overriding.js';
import { ownerOfModule } from './owners.js';

interface SharingModule {
  handler: Pick<AgentHandler, 'restarts'>;
  webhooks: Pick<Webhooks, 'keysFor'>;
  /** Undefined until the module has started. */
  host: StoreHost | undefined;
  /** The runs that were ended before. */
  held: RunRecord[];
}

/**
 * A store that modules of one application share. It is recovered once and closed once. Each module is told about its own runs,
 * and hears the signals of the other processes.
 */
export class SharedStore {
  static readonly #ofApplications = new WeakMap<object, Map<RunStore, SharedStore>>();
  readonly #members = new Map<string, SharingModule>();
  readonly #receivers: SignalReceiver[] = [];
  /** The names of the modules that have started, and have not closed the store. */
  readonly #open = new Set<string>();
  #listening: Promise<void> | undefined;
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
   * Returns the store as one module sees it: with its own runs only. The handler is not asked before the store is recovered.
   *
   * @throws {TypeError} another module of this name uses the store
   */
  join(name: string, { handler, webhooks }: Pick<SharingModule, 'handler' | 'webhooks'>): RunStore {
    if (this.#members.has(name)) {
      const modules = name === '' ? 'Two modules without a name' : `Two modules with the name "${name}"`;
      throw new TypeError(
        `QueryModule: ${modules} have the same store. Give each a name of its own, or a store of its own.`,
      );
    }
    this.#members.set(name, { handler, webhooks, host: undefined, held: [] });
    const { signals } = this.store;
    return overriding(this.store, {
      open: (host) => this.#recover(name, host),
      signals: overriding(signals, { listen: (receiver) => this.#listen(receiver) }),
      close: () => this.#close(name),
    });
  }

  async #recover(name: string, host: StoreHost): Promise<void> {
    const member = this.#members.get(name)!;
    member.host = host;
    this.#open.add(name);
    for (const run of member.held.splice(0)) host.recovered(run.id, run);
    await (this.#recovered ??= Promise.resolve(this.store.open(this.#host)));
  }

  #listen(receiver: SignalReceiver): Promise<void> {
    this.#receivers.push(receiver);
    const all: SignalReceiver = {
      receive: (signal, from) => this.#receivers.forEach((each) => each.receive(signal, from)),
      missed: () => this.#receivers.forEach((each) => each.missed()),
    };
    return (this.#listening ??= Promise.resolve(this.store.signals.listen(all)));
  }

  /** The last module closes the store. */
  async #close(name: string): Promise<void> {
    this.#open.delete(name);
    if (this.#open.size === 0) await this.store.close();
  }

  get #host(): StoreHost {
    return {
      // A module that this process does not have may have no handler that can continue.
      maxRunningPerOwner: (module) => this.#members.get(module)?.host?.maxRunningPerOwner(module),
      restarts: (module) => this.#members.get(module)?.handler.restarts ?? 0,
      // Runs of a module may be ended before it has started.
      endpoints: (module, event) => this.#members.get(module)?.webhooks.keysFor(event) ?? [],
      wished: (runId, what) => this.#tellAll((host) => host.wished(runId, what)),
      lost: (runId) => this.#tellAll((host) => host.lost(runId)),
      recovered: (runId, ended) => this.#recoveredRun(runId, ended),
      resolved: (resolved) => {
        const host = this.#members.get(ownerOfModule(resolved.run.owner).module)?.host;
        if (host) host.resolved(resolved);
        else this.#recoveredRun(resolved.run.id, resolved.run.end && resolved.run);
      },
      ready: () => this.#tellAll((host) => host.ready()),
    };
  }

  #recoveredRun(runId: string, ended: RunRecord | undefined): void {
    const member = ended && this.#members.get(ownerOfModule(ended.owner).module);
    // Its followers are told by any module.
    if (!member) this.#tellAll((host) => host.recovered(runId, undefined));
    else if (member.host) member.host.recovered(runId, ended);
    else member.held.push(ended);
  }

  #tellAll(tell: (host: StoreHost) => void): void {
    for (const { host } of this.#members.values()) if (host) tell(host);
  }
}
