import type { WebhookEvent } from 'nest-agent-query-client';
import type { Awaitable } from './file-store.js';
import type { RunRecord, RunRef } from './run-record.js';

/** Names an endpoint of webhooks. */
export interface EndpointRef {
  /** Its module and its name: those that `StoreHost.endpoints` returns. */
  readonly key: string;
  /** Changes with its URL: an endpoint is disabled under this name. */
  readonly address: string;
}

/** A webhook for one endpoint, as the store keeps it. Times are milliseconds since the epoch. */
export interface StoredDelivery {
  /** The same for the same event and endpoint. */
  readonly id: string;
  readonly runId: string;
  /** The `key` of the endpoint. */
  readonly endpoint: string;
  readonly event: WebhookEvent;
  /** The number of the envelope that is the event. */
  readonly seq: number;
  /** The ids of the requests, where the run asks. */
  readonly inputs: string[] | undefined;
  /** When the event happened. */
  readonly createdAt: number;
  readonly status: 'waiting' | 'delivered' | 'failed';
  readonly tries: number;
  readonly triedAt: number | undefined;
  /** When it is to be tried; undefined unless it waits. */
  readonly dueAt: number | undefined;
  /** Why the last try has failed. */
  readonly error: string | undefined;
}

/** A delivery that this process tries now. */
export interface TakenDelivery {
  delivery: StoredDelivery;
  /** The run as it is now. */
  run: RunRecord;
  /** Whether its endpoint is disabled. */
  isDisabled: boolean;
  /** What the store knows the taking process by. */
  taker: string;
}

/** What has become of a try. */
export type DeliveryResult =
  | { status: 'delivered' }
  | { status: 'failed'; error: string }
  /** It is to be tried again after so many milliseconds. */
  | { status: 'waiting'; error: string; afterMs: number };

/**
 * Keeps the webhooks of runs, as a part of a `RunStore`: a capability.
 *
 * When a run of a module ends or asks, the store makes a delivery for each endpoint that `StoreHost.endpoints` names, in the
 * same step (`newDeliveries` of `nest-agent-query/store-rules`). It is gone with the run. Of the deliveries of one run to one
 * endpoint, only the first that waits can be taken.
 *
 * @example
 * class MyRunStore extends RunStore {
 *   override readonly deliveries: DeliveryStore = new MyDeliveryStore();
 *   // …
 * }
 */
export abstract class DeliveryStore {
  /**
   * Takes deliveries to an endpoint that are due, those that are due for longest first. Nobody else takes them before `settle`, or
   * the end of this process. Not called again for the same endpoint before it has returned.
   *
   * @param count how many at most, from 1
   */
  abstract take(endpoint: EndpointRef, count: number): Awaitable<TakenDelivery[]>;

  /**
   * Records a try, and gives the delivery back. Those of the same run to the same endpoint are not due before it. Does nothing for
   * a delivery that somebody else has taken meanwhile.
   */
  abstract settle(taken: TakenDelivery, result: DeliveryResult): Awaitable<void>;

  /** Disables an endpoint: it wants no webhooks. */
  abstract disable(endpoint: EndpointRef): Awaitable<void>;

  /**
   * Makes a delivery due now, as if it had not been tried before, unless it is being tried; and enables its endpoint.
   *
   * @param endpoints those that are configured
   * @returns undefined if the owner has no such run, or that has no such delivery to one of these endpoints
   */
  abstract sendAgain(
    run: RunRef,
    id: string,
    endpoints: readonly EndpointRef[],
  ): Awaitable<StoredDelivery | undefined>;

  /** Returns the deliveries of a run, in the order of the events. Empty if the owner has no such run. */
  abstract of(run: RunRef): Awaitable<StoredDelivery[]>;
}
