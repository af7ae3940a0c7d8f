import { hash } from 'node:crypto';
import type { RunEnd, WebhookEvent } from 'nest-agent-query-client';
import type { DeliveryResult, StoredDelivery } from './delivery-store.js';

/** What has happened to a run. */
export interface RunEvent {
  runId: string;
  status: RunEnd['status'] | 'input_required';
  /** The number of the envelope. */
  seq: number;
  /** Milliseconds since the epoch. */
  at: number;
  /** The ids of the requests, where the run asks. */
  inputs?: string[];
}

/**
 * The deliveries of an event: one for each endpoint.
 *
 * @param endpointsOf returns the keys of the endpoints that want an event
 *
 * @example
 * const deliveries = newDeliveries({ runId, status: 'completed', seq, at }, (event) => events.endpoints(module, event));
 */
export function newDeliveries(
  { runId, status, seq, at, inputs }: RunEvent,
  endpointsOf: (event: WebhookEvent) => readonly string[],
): StoredDelivery[] {
  const event: WebhookEvent = `run.${status}`;
  return endpointsOf(event).map((endpoint) => ({
    // No dots: they separate what is signed (Standard Webhooks 1.0, "Signature scheme").
    id: `msg_${hash('sha256', JSON.stringify([runId, seq, endpoint]), 'base64url').slice(0, 32)}`,
    ...{ runId, endpoint, event, seq, inputs, createdAt: at, dueAt: at },
    ...{ status: 'waiting' as const, tries: 0, triedAt: undefined, error: undefined },
  }));
}

/**
 * The delivery after a try.
 *
 * @param now milliseconds since the epoch
 *
 * @example
 * Object.assign(delivery, triedDelivery(delivery, result, Date.now()));
 */
export function triedDelivery(
  { tries }: StoredDelivery,
  result: DeliveryResult,
  now: number,
): Pick<StoredDelivery, 'status' | 'tries' | 'triedAt' | 'dueAt' | 'error'> {
  return {
    status: result.status,
    tries: tries + 1,
    triedAt: now,
    dueAt: result.status === 'waiting' ? now + result.afterMs : undefined,
    error: result.status === 'delivered' ? undefined : result.error,
  };
}

/**
 * The delivery that is sent again.
 *
 * @param now milliseconds since the epoch
 *
 * @example
 * if (!isTaken) Object.assign(delivery, deliveryAgain(Date.now()));
 */
export function deliveryAgain(now: number): Pick<StoredDelivery, 'status' | 'tries' | 'dueAt'> {
  return { status: 'waiting', tries: 0, dueAt: now };
}
