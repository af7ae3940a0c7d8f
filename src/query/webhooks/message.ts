import { Buffer } from 'node:buffer';
import { createHmac } from 'node:crypto';
import type { RunView, WebhookMessage } from 'nest-agent-query-client';
import type { CheckedWebhookEndpoint } from '../options/webhook-options.js';
import type { TakenDelivery } from '../ports/delivery-store.js';
import type { RunRecord } from '../ports/run-store.js';

/** The body of a delivery. It is the same each time: the run is described as it was when the event happened. */
export function bodyOf({ delivery, run }: TakenDelivery, viewOf: (run: RunRecord) => RunView): Buffer {
  const { event, createdAt, seq, inputs } = delivery;
  const asked = { status: 'input_required', endedAt: undefined, end: undefined } as const;
  const then = { ...run, lastSeq: seq, ...(event === 'run.input_required' && asked) };
  const message: WebhookMessage = {
    type: event,
    timestamp: new Date(createdAt).toISOString(),
    data: { run: viewOf(then), ...(inputs && { inputs }) },
  };
  return Buffer.from(JSON.stringify(message));
}

/**
 * The headers of a try, with a signature for each secret of the endpoint (Standard Webhooks 1.0, "Webhook headers").
 *
 * @param now milliseconds since the epoch
 */
export function headersOf(
  { secrets }: Pick<CheckedWebhookEndpoint, 'secrets'>,
  id: string,
  body: Buffer,
  now: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const signatures = secrets.map((secret) => {
    const digest = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest('base64');
    return `v1,${digest}`;
  });
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'nest-agent-query',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
