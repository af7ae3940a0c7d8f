import type { DeliveryView, RunDeliveries } from 'nest-agent-query-client';
import { deliveryNotFound } from '../contract/refusals.js';
import type { Timer } from '../platform/clock.js';
import type { StoredDelivery } from '../ports/delivery-store.js';
import type { WebhookTried } from '../ports/run-listener.js';
import { storedOwner } from '../sharing/owners.js';
import { WebhookQueue } from '../webhooks/webhook-queue.js';
import type { RunnerServices } from './runner-services.js';
import { existingRun, timeText, viewOf } from './run-view.js';

/** How often deliveries are looked for that this process knows nothing of, or that are tried again, in milliseconds. */
const LOOK_MS = 1_000;

/**
 * The webhooks of runs, as `AgentService.deliveries`: delivers them, and lets owners see them and send them again.
 *
 * @example
 * const { deliveries } = await agent.deliveries.of(owner, runId);
 * await agent.deliveries.sendAgain(owner, runId, deliveries[0].id);
 */
export class Deliveries {
  readonly #queues: WebhookQueue[];
  #timer: Timer | undefined;

  constructor(private readonly services: RunnerServices) {
    const { store, settings, clock, logger, observers } = services;
    const { endpoints, allowPrivate } = settings.webhooks;
    const { deliveries } = store;
    const tried = (what: WebhookTried) => observers.tell('webhookTried', () => what);
    this.#queues = deliveries
      ? endpoints.map(
          (endpoint) =>
            new WebhookQueue(endpoint, { store: deliveries, clock, logger, allowPrivate, viewOf, tried }),
        )
      : [];
  }

  /**
   * Returns the webhooks of a run, in the order of its events. Empty if no endpoint wants any of them.
   *
   * @throws {QueryError} `not_found` · `unavailable`
   */
  async of(owner: string, runId: string): Promise<RunDeliveries> {
    const { store, settings } = this.services;
    const run = await existingRun(store, storedOwner(settings.name, owner), runId);
    const deliveries = (await store.deliveries?.of(run)) ?? [];
    return { deliveries: deliveries.map(viewOfDelivery) };
  }

  /**
   * Sends a webhook again, whatever has become of it, as if it had not been tried before. Its endpoint is no longer disabled.
   *
   * @param id the id of the delivery
   * @throws {QueryError} `not_found`: the owner has no such run, or it has no such delivery, or its endpoint is not configured any
   * more · `unavailable`
   */
  async sendAgain(owner: string, runId: string, id: string): Promise<DeliveryView> {
    const { store, settings } = this.services;
    const run = await existingRun(store, storedOwner(settings.name, owner), runId);
    const delivery = await store.deliveries?.sendAgain(run, id, settings.webhooks.endpoints);
    if (!delivery) throw deliveryNotFound();
    this.#wake();
    return viewOfDelivery(delivery);
  }

  /** Begins to deliver. */
  start(): void {
    if (this.#queues.length === 0) return;
    const { clock, observers } = this.services;
    const wake = () => this.#wake();
    this.#timer = clock.repeat('webhookLookMs', LOOK_MS, wake);
    observers.listen({ ended: wake, asked: wake });
    wake();
  }

  /** Ends to deliver. */
  async close(): Promise<void> {
    this.services.clock.stop(this.#timer);
    await Promise.all(this.#queues.map((queue) => queue.close()));
  }

  #wake(): void {
    for (const queue of this.#queues) queue.wake();
  }
}

function viewOfDelivery(delivery: StoredDelivery): DeliveryView {
  const { id, endpoint, event, status, tries, createdAt, triedAt, dueAt, error } = delivery;
  return {
    id,
    // Without the name of the module.
    endpoint: endpoint.slice(endpoint.indexOf('/') + 1),
    ...{ event, status, tries },
    createdAt: timeText(createdAt),
    triedAt: triedAt === undefined ? null : timeText(triedAt),
    dueAt: dueAt === undefined ? null : timeText(dueAt),
    error: error ?? null,
  };
}
