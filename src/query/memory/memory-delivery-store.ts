import { deliveryAgain, newDeliveries, type RunEvent, triedDelivery } from '../ports/delivery-rules.js';
import {
  type DeliveryResult,
  DeliveryStore,
  type EndpointRef,
  type StoredDelivery,
  type TakenDelivery,
} from '../ports/delivery-store.js';
import type { StoreHost, RunRef } from '../ports/run-store.js';
import { DueRuns } from './due-runs.js';
import type { MemoryDelivery, Run } from './run.js';

/** The webhooks of runs, in the memory of this process: each run has its own. */
export class MemoryDeliveryStore extends DeliveryStore {
  endpointsOf: StoreHost['endpoints'] = () => [];
  /** By endpoint, the runs whose first delivery that waits can be taken. */
  readonly #waiting = new Map<string, DueRuns>();
  readonly #disabled = new Set<string>();

  constructor(private readonly find: (run: RunRef) => Run | undefined) {
    super();
  }

  /** An event has happened to a run. */
  add(run: Run, status: RunEvent['status'], at: number, inputs?: string[]): void {
    const event = { runId: run.id, status, seq: run.lastSeq, at, ...(inputs && { inputs }) };
    for (const delivery of newDeliveries(event, (name) => this.endpointsOf(run.module, name))) {
      this.#change(run, delivery.endpoint, () => {
        run.deliveries = [...run.deliveries, { ...delivery, isTaken: false }];
      });
    }
  }

  /** A run is gone. */
  forget(run: Run): void {
    for (const { endpoint } of run.deliveries) {
      const first = firstToTake(run, endpoint);
      if (first) this.#runsOf(endpoint).remove(run, first.dueAt!);
    }
  }

  take({ key, address }: EndpointRef, count: number): TakenDelivery[] {
    const isDisabled = this.#disabled.has(address);
    return this.#runsOf(key)
      .take(Date.now(), count)
      .map((run) => {
        const delivery = firstToTake(run, key)!;
        delivery.isTaken = true;
        return { delivery, run, isDisabled, taker: '' };
      });
  }

  settle({ delivery: { id }, run: { owner, id: runId } }: TakenDelivery, result: DeliveryResult): void {
    const run = this.find({ owner, id: runId });
    const delivery = run?.deliveries.find((each) => each.id === id);
    if (!run || !delivery) return;
    this.#change(run, delivery.endpoint, () =>
      Object.assign(delivery, triedDelivery(delivery, result, Date.now()), { isTaken: false }),
    );
  }

  disable({ address }: EndpointRef): void {
    this.#disabled.add(address);
  }

  sendAgain(name: RunRef, id: string, endpoints: readonly EndpointRef[]): StoredDelivery | undefined {
    const run = this.find(name);
    const delivery = run?.deliveries.find((each) => each.id === id);
    const endpoint = endpoints.find(({ key }) => key === delivery?.endpoint);
    if (!run || !delivery || !endpoint) return undefined;
    this.#disabled.delete(endpoint.address);
    if (!delivery.isTaken)
      this.#change(run, endpoint.key, () => Object.assign(delivery, deliveryAgain(Date.now())));
    return delivery;
  }

  of(name: RunRef): StoredDelivery[] {
    return [...(this.find(name)?.deliveries ?? [])];
  }

  /** Changes deliveries of a run to an endpoint: another one may be the first that waits, or it is due at another time. */
  #change(run: Run, endpoint: string, change: () => unknown): void {
    const runs = this.#runsOf(endpoint);
    const before = firstToTake(run, endpoint);
    if (before) runs.remove(run, before.dueAt!);
    change();
    const after = firstToTake(run, endpoint);
    if (after) runs.add(run, after.dueAt!);
  }

  #runsOf(endpoint: string): DueRuns {
    const runs = this.#waiting.get(endpoint) ?? new DueRuns();
    this.#waiting.set(endpoint, runs);
    return runs;
  }
}

/** The first delivery that waits, unless it is being tried. */
function firstToTake({ deliveries }: Run, endpoint: string): MemoryDelivery | undefined {
  const first = deliveries.find((each) => each.endpoint === endpoint && each.status === 'waiting');
  return first?.isTaken ? undefined : first;
}
