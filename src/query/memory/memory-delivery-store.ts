import { deliveryAgain, newDeliveries, type RunEvent, triedDelivery } from '../ports/delivery-rules.js';
import {
  type DeliveryResult,
  DeliveryStore,
  type EndpointRef,
  type StoredDelivery,
  type TakenDelivery,
} from '../ports/delivery-store.js';
import type { RecoveryEvents, RunRef } from '../ports/run-store.js';
import type { MemoryDelivery, Run } from './run.js';

/** The webhooks of runs, in the memory of this process: each run has its own. */
export class MemoryDeliveryStore extends DeliveryStore {
  endpointsOf: RecoveryEvents['endpoints'] = () => [];
  /** The runs with deliveries that wait, by endpoint, in the order of the events. */
  readonly #waiting = new Map<string, Set<Run>>();
  readonly #disabled = new Set<string>();

  constructor(private readonly find: (run: RunRef) => Run | undefined) {
    super();
  }

  /** An event has happened to a run. */
  add(run: Run, status: RunEvent['status'], at: number, inputs?: string[]): void {
    const event = { runId: run.id, status, seq: run.lastSeq, at, ...(inputs && { inputs }) };
    for (const delivery of newDeliveries(event, (name) => this.endpointsOf(run.module, name))) {
      run.deliveries = [...run.deliveries, { ...delivery, isTaken: false }];
      this.#runsOf(delivery.endpoint).add(run);
    }
  }

  /** A run is gone. */
  forget(run: Run): void {
    for (const { endpoint } of run.deliveries) this.#runsOf(endpoint).delete(run);
  }

  take({ key, address }: EndpointRef, count: number): TakenDelivery[] {
    const now = Date.now();
    const due: [Run, MemoryDelivery][] = [];
    for (const run of this.#runsOf(key)) {
      const first = firstWaiting(run, key);
      if (first && !first.isTaken && first.dueAt! <= now) due.push([run, first]);
    }
    due.sort(([, one], [, other]) => one.dueAt! - other.dueAt!);
    const isDisabled = this.#disabled.has(address);
    return due.slice(0, count).map(([run, delivery]) => {
      delivery.isTaken = true;
      return { delivery, run, isDisabled, taker: '' };
    });
  }

  settle({ delivery: { id }, run: { owner, id: runId } }: TakenDelivery, result: DeliveryResult): void {
    const run = this.find({ owner, id: runId });
    const delivery = run?.deliveries.find((each) => each.id === id);
    if (!run || !delivery) return;
    Object.assign(delivery, triedDelivery(delivery, result, Date.now()), { isTaken: false });
    if (!firstWaiting(run, delivery.endpoint)) this.#runsOf(delivery.endpoint).delete(run);
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
    if (!delivery.isTaken) Object.assign(delivery, deliveryAgain(Date.now()));
    this.#runsOf(endpoint.key).add(run);
    return delivery;
  }

  of(name: RunRef): StoredDelivery[] {
    return [...(this.find(name)?.deliveries ?? [])];
  }

  #runsOf(endpoint: string): Set<Run> {
    const runs = this.#waiting.get(endpoint) ?? new Set();
    this.#waiting.set(endpoint, runs);
    return runs;
  }
}

function firstWaiting({ deliveries }: Run, endpoint: string): MemoryDelivery | undefined {
  return deliveries.find((each) => each.endpoint === endpoint && each.status === 'waiting');
}
