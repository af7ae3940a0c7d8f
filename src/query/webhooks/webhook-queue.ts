import type { Logger } from '@nestjs/common';
import type { RunView } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import type { CheckedWebhookEndpoint } from '../options/webhook-options.js';
import { settlesWithin } from '../platform/deadline.js';
import type { Clock } from '../platform/clock.js';
import type { DeliveryResult, DeliveryStore, TakenDelivery } from '../ports/delivery-store.js';
import type { WebhookTried } from '../ports/run-listener.js';
import type { RunRecord } from '../ports/run-store.js';
import { bodyOf, headersOf } from './message.js';
import { type Answer, post } from './post.js';
import { PrivateAddress } from './public-lookup.js';
import { isGone, resultOf } from './tries.js';
import { stackForLog } from '../platform/text-for-log.js';

/** How many deliveries one process tries at the same time for one endpoint: a slow one does not hold up the others. */
const AT_ONCE = 16;

/** How long an endpoint may take to answer, in milliseconds. */
const ANSWER_MS = 20_000;

/** How long a shutdown waits for deliveries that are being tried, in milliseconds. Others take them when the process is gone. */
const CLOSE_MS = 2_000;

/** What the queues of a module share. */
export interface QueueServices {
  store: DeliveryStore;
  clock: Clock;
  logger: Logger;
  allowPrivate: boolean;
  viewOf: (run: RunRecord) => RunView;
  /** A try has ended. */
  tried: (tried: WebhookTried) => void;
}

/** Delivers the webhooks of one `WebhookEndpoint`. */
export class WebhookQueue {
  readonly #sending = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #taken = Promise.resolve();
  #isTaking = false;
  #isWoken = false;
  #isClosed = false;

  constructor(
    private readonly endpoint: CheckedWebhookEndpoint,
    private readonly services: QueueServices,
  ) {}

  /** Deliveries may be due. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isTaking && !this.#isClosed) this.#taken = this.#takeAll();
  }

  /**
   * Takes nothing any more. Resolves when nothing is being tried; or after some time, as what a store in an outage is told waits
   * until the store is closed.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const settled = async () => {
      await this.#taken;
      await Promise.all(this.#sending);
    };
    if (await settlesWithin(CLOSE_MS, settled())) return;
    this.#closing.abort();
    await settlesWithin(CLOSE_MS, settled());
  }

  async #takeAll(): Promise<void> {
    const { store, logger } = this.services;
    this.#isTaking = true;
    try {
      while (this.#isWoken && this.#sending.size < AT_ONCE && !this.#isClosed) {
        this.#isWoken = false;
        for (const taken of await store.take(this.endpoint, AT_ONCE - this.#sending.size)) this.#send(taken);
      }
    } catch (error) {
      report(logger, error);
    }
    this.#isTaking = false;
  }

  #send(taken: TakenDelivery): void {
    const sending = this.#try(taken)
      .catch((error: unknown) => report(this.services.logger, error))
      .finally(() => {
        this.#sending.delete(sending);
        this.wake();
      });
    this.#sending.add(sending);
  }

  async #try(taken: TakenDelivery): Promise<void> {
    const { endpoint } = this;
    const { store, logger, tried } = this.services;
    const since = performance.now();
    const { delivery } = taken;
    const answer = taken.isDisabled ? undefined : await this.#answerTo(taken);
    const result: DeliveryResult = answer
      ? resultOf(delivery.tries, answer, Date.now())
      : { status: 'failed', error: 'The endpoint is disabled, because it has answered 410.' };
    // It is not known whether the endpoint has it.
    if (answer && 'error' in answer && this.#closing.signal.aborted) return;
    if (answer && 'status' in answer && isGone(answer)) {
      await store.disable(endpoint);
      logger.error(`The endpoint ${endpoint.name} of webhooks has answered 410: it is disabled.`);
    } else if (answer && result.status === 'failed') {
      const { id, runId } = delivery;
      logger.warn(`The webhook ${id} of run ${runId} was not delivered to ${endpoint.name}. ${result.error}`);
    }
    await store.settle(taken, result);
    const { event, tries } = delivery;
    const durationMs = performance.now() - since;
    tried({ endpoint: endpoint.name, event, status: result.status, tries: tries + 1, durationMs });
  }

  async #answerTo(taken: TakenDelivery): Promise<Answer | { error: string }> {
    const { clock, allowPrivate, viewOf } = this.services;
    const { url } = this.endpoint;
    const late = new AbortController();
    const signal = AbortSignal.any([late.signal, this.#closing.signal]);
    const timer = clock.start('webhookMs', ANSWER_MS, () => late.abort());
    try {
      const body = bodyOf(taken, viewOf);
      const headers = headersOf(this.endpoint, taken.delivery.id, body, Date.now());
      return await post(url, headers, body, allowPrivate, signal);
    } catch (error) {
      if (error instanceof PrivateAddress) return { error: 'The address of the endpoint is not public.' };
      const seconds = ANSWER_MS / 1000;
      const slow = `The endpoint has not answered within ${seconds} s.`;
      return { error: late.signal.aborted ? slow : 'The endpoint cannot be reached.' };
    } finally {
      clock.stop(timer);
    }
  }
}

function report(logger: Logger, error: unknown): void {
  // An outage was logged already.
  if (error instanceof QueryError) return;
  logger.error('Webhooks cannot be delivered at present.', stackForLog(error));
}
