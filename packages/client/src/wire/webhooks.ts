import type { RunView } from './runs.js';

/** What a webhook tells. */
export type WebhookEvent = 'run.completed' | 'run.failed' | 'run.cancelled' | 'run.input_required';

/** The body of a webhook. */
export interface WebhookMessage {
  type: WebhookEvent;
  /** When it happened, as ISO 8601 in UTC. */
  timestamp: string;
  data: {
    /** The run as it was then. */
    run: RunView;
    /** The ids of the requests, where the run asks. */
    inputs?: string[];
  };
}

/** A webhook for one endpoint. Times are ISO 8601 in UTC. */
export interface DeliveryView {
  /** The header `webhook-id`. */
  id: string;
  /** The name of the endpoint. */
  endpoint: string;
  event: WebhookEvent;
  /** `waiting`: it is still tried. `failed`: it is not, unless it is sent again. */
  status: 'waiting' | 'delivered' | 'failed';
  /** How often it was tried since it was made, or was sent again. */
  tries: number;
  createdAt: string;
  /** When it was tried last; null before. */
  triedAt: string | null;
  /** When it is tried next; null unless it waits. */
  dueAt: string | null;
  /** Why the last try has failed; null if none has. */
  error: string | null;
}

/** The webhooks of one run, as `GET {base}/query/{runId}/deliveries` returns them: in the order of the events. */
export interface RunDeliveries {
  deliveries: DeliveryView[];
}
