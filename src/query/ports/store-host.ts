import type { WebhookEvent } from 'nest-agent-query-client';
import type { InputsResolved } from './input-store.js';
import type { RunRecord } from './run-record.js';

/** What a store asks of the service that opened it, and tells it. */
export interface StoreHost {
  /** How often a run of a module may be executed again after its process was lost. */
  restarts(module: string): number;
  /**
   * How many runs of one owner may execute at the same time in all processes, for a module; Infinity for no limit, undefined
   * for a module that this process does not know. Asked again and again.
   */
  maxRunningPerOwner(module: string): number | undefined;
  /** The keys of the endpoints of a module that get a webhook of an event: see `DeliveryStore`. */
  endpoints(module: string, event: WebhookEvent): readonly string[];
  /** Another process has asked something of a run of this process: see `RunStore.wish`. Told again while the run executes. */
  wished(runId: string, what: 'cancel' | 'detach'): void;
  /** This process does not own the run any more. Its handler must stop; nothing that it emits is kept. */
  lost(runId: string): void;
  /** A run of a process that is gone has a new attempt or an end: then `ended` is the run. */
  recovered(runId: string, ended: RunRecord | undefined): void;
  /** Requests of a run have expired; the run may have ended by that. */
  resolved(resolved: InputsResolved): void;
  /** Runs may wait that this process can take. */
  ready(): void;
}
