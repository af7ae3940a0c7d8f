import { type Channel, channel } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import type { Envelope, UsageEnvelope } from 'nest-agent-query-client';
import type { Refusal } from '../contract/errors.js';
import { traceIdOf } from '../contract/trace-context.js';
import type { Query } from '../ports/agent-handler.js';
import { isThenable } from '../ports/file-store.js';
import type { NewRequest } from '../ports/input-store.js';
import type { ObservedRun, RequestRefused, RunListener } from '../ports/run-listener.js';
import type { RunTrace } from '../ports/run-tracer.js';
import { PRICE_PARTS } from '../ports/usage-rules.js';
import type { RunRecord, StoredInput } from '../ports/run-store.js';
import { ownerOfModule } from '../sharing/owners.js';
import { stackForLog } from '../platform/text-for-log.js';

/** The message of each event. */
type Messages = { [K in keyof Required<RunListener>]: Parameters<NonNullable<RunListener[K]>>[0] };

const channels: { [K in keyof Messages]?: Channel } = {};

function channelOf(name: keyof Messages): Channel {
  return (channels[name] ??= channel(`nest-agent-query:${name}`));
}

/** Tells the listeners of the module, and the subscribers of the channels, what happens to runs. */
export class Observers {
  static readonly #logger = new Logger('RunListener');
  /** What the handlers of this process have emitted since its start: envelopes, and their characters of JSON. */
  readonly emitted = { envelopes: 0, length: 0 };
  readonly #owners = new WeakMap<object, string>();
  /** Requests whose refusal was told with the query that they have submitted. */
  readonly #refused = new WeakSet<object>();

  constructor(private listeners: readonly RunListener[]) {}

  /** Tells one more listener. */
  listen(listener: RunListener): void {
    this.listeners = [...this.listeners, listener];
  }

  want(name: keyof Messages): boolean {
    return channelOf(name).hasSubscribers || this.listeners.some((listener) => listener[name] !== undefined);
  }

  /** Tells everybody who wants to know of an event. The message is made only for them. Never throws. */
  tell<K extends keyof Messages>(name: K, messageOf: () => Messages[K]): void {
    if (!this.want(name)) return;
    const message = messageOf();
    channelOf(name).publish(message);
    for (const listener of this.listeners) {
      try {
        const told: unknown = listener[name]?.(message as never);
        if (isThenable(told)) Promise.resolve(told).catch((error: unknown) => this.#report(name, error));
      } catch (error) {
        this.#report(name, error);
      }
    }
  }

  /** Keeps the owner of a request, for the case that it is refused. */
  ownerIs(request: object, owner: string): void {
    if (this.want('refused')) this.#owners.set(request, owner);
  }

  /** @param request undefined for a query that the host itself submits */
  tellRefusedQuery(request: object | undefined, refused: Omit<RequestRefused, 'isQuery'>): void {
    if (request && this.want('refused')) this.#refused.add(request);
    this.tell('refused', () => ({ ...refused, isQuery: true }));
  }

  /** Tells that a request was answered with a problem, unless that was told with its query. */
  tellRefusedRequest(request: object, refusal: Refusal, isQuery: boolean): void {
    if (this.#refused.has(request)) return;
    const owner = this.#owners.get(request);
    this.tell('refused', () => ({ ...refusal, isQuery, owner, sessionId: undefined }));
  }

  #report(name: string, error: unknown): void {
    Observers.#logger.error(`A listener failed at the event "${name}".`, stackForLog(error));
  }
}

/** What this process has seen of one run, for the observers and the trace of the run. */
export class Observation {
  #admittedAt = performance.now();
  #startedAt: number | undefined;
  #firstEnvelopeMs: number | undefined;
  /** Since when the run asks. */
  #pausedAt: number | undefined;
  #length = 0;
  readonly #usage = new Map<string, number>();

  /** @param trace undefined if there is no tracer, and for a run that is not in this process */
  constructor(
    private readonly observers: Observers,
    private readonly trace?: RunTrace,
  ) {}

  admitted(run: RunRecord, { parts }: Query): void {
    this.observers.tell('admitted', () => {
      const sizes = parts.flatMap((part) => (part.type === 'file' ? [part.file.size] : []));
      const fileBytes = sizes.reduce((sum, size) => sum + size, 0);
      return { run: observed(run), waits: run.status === 'waiting', files: sizes.length, fileBytes };
    });
    this.trace?.admitted(run.status === 'waiting');
  }

  started(run: RunRecord): void {
    this.#startedAt = performance.now();
    this.observers.tell('started', () => ({ run: observed(run), waitedMs: this.#waitedMs(run) }));
  }

  /** The handler has emitted an envelope with so many characters of JSON. */
  emitted({ type, data }: Envelope, length: number): void {
    const { emitted } = this.observers;
    emitted.envelopes++;
    emitted.length += length;
    this.#length += length;
    this.#firstEnvelopeMs ??= performance.now() - this.#startedAt!;
    if (type === 'usage') this.#addUsage(data);
  }

  used(run: RunRecord, usage: UsageEnvelope['data'], price: number): void {
    this.observers.tell('used', () => ({ run: observed(run), usage, price: price / PRICE_PARTS }));
  }

  asked(run: RunRecord, requests: NewRequest[]): void {
    this.#pausedAt = performance.now();
    this.observers.tell('asked', () => ({ run: observed(run), kinds: requests.map(({ kind }) => kind) }));
    this.trace?.paused(requests.length);
  }

  /** The time of a pause does not count as execution. */
  resumed(): void {
    this.#startedAt! += performance.now() - this.#pausedAt!;
    this.#pausedAt = undefined;
    this.trace?.resumed();
  }

  /** Requests of the run were resolved. */
  closed({ run, inputs = [] }: { run: RunRecord; inputs?: StoredInput[] }): void {
    for (const { request, resolved, askedAt } of inputs) {
      const { kind, id } = request;
      const waitedMs = Math.max(0, Date.parse(resolved!.at) - askedAt);
      this.observers.tell('resolved', () => {
        return { run: observed(run), id, kind, outcome: resolved!.outcome, by: resolved!.by, waitedMs };
      });
    }
  }

  ended(run: RunRecord): void {
    const end = run.end!;
    const stoppedAt = this.#pausedAt ?? performance.now();
    this.observers.tell('ended', () => ({
      run: observed(run),
      status: end.status,
      errorCode: end.status === 'failed' ? end.error.code : undefined,
      waitedMs: this.#waitedMs(run),
      executedMs: this.#startedAt === undefined ? undefined : stoppedAt - this.#startedAt,
      firstEnvelopeMs: this.#firstEnvelopeMs,
      envelopes: run.lastSeq,
      length: this.#length,
      usage: this.usage,
    }));
  }

  get usage(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#usage);
  }

  /** A run that this process has not admitted has waited longer than this process knows it. */
  #waitedMs({ createdAt, startedAt }: RunRecord): number {
    const knownMs = (this.#startedAt ?? performance.now()) - this.#admittedAt;
    return startedAt === undefined ? knownMs : Math.max(knownMs, startedAt - createdAt);
  }

  #addUsage(data: unknown): void {
    for (const [name, value] of Object.entries(data ?? {})) {
      if (Number.isFinite(value)) this.#usage.set(name, (this.#usage.get(name) ?? 0) + (value as number));
    }
  }
}

export function observed({ id, owner, sessionId, attempt, trace }: RunRecord): ObservedRun {
  const traceId = trace === undefined ? undefined : traceIdOf(trace);
  return { id, owner: ownerOfModule(owner).owner, sessionId, attempt, traceId };
}
