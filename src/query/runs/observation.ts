import { traceIdOf } from '../contract/trace-context.js';
import type { Envelope } from 'nest-agent-query-client';
import type { Query } from '../ports/agent-handler.js';
import type { ObservedRun } from '../ports/run-listener.js';
import type { RunRecord } from '../ports/run-store.js';
import { ownerOfModule } from '../sharing/owners.js';
import type { Observers } from './observers.js';

/** What this process has seen of one run, for the listeners. */
export class Observation {
  #admittedAt = performance.now();
  #startedAt: number | undefined;
  #firstEnvelopeMs: number | undefined;
  #length = 0;
  readonly #usage = new Map<string, number>();

  constructor(private readonly observers: Observers) {}

  admitted(run: RunRecord, query: Query): void {
    if (!this.observers.want('admitted')) return;
    this.observers.tell('admitted', {
      run: observed(run),
      waits: run.status === 'waiting',
      ...filesOf(query),
    });
  }

  started(run: RunRecord): void {
    this.#startedAt = performance.now();
    if (this.observers.want('started'))
      this.observers.tell('started', { run: observed(run), waitedMs: waitedMs(run, this.#waitedMs()) });
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

  ended(run: RunRecord): void {
    if (!this.observers.want('ended')) return;
    const end = run.end!;
    this.observers.tell('ended', {
      run: observed(run),
      status: end.status,
      errorCode: end.status === 'failed' ? end.error.code : undefined,
      waitedMs: waitedMs(run, this.#waitedMs()),
      executedMs: this.#startedAt === undefined ? undefined : performance.now() - this.#startedAt,
      firstEnvelopeMs: this.#firstEnvelopeMs,
      envelopes: run.lastSeq,
      length: this.#length,
      usage: this.usage,
    });
  }

  /** The sums of what the handler has emitted as `usage` envelopes. */
  get usage(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#usage);
  }

  #waitedMs(): number {
    return (this.#startedAt ?? performance.now()) - this.#admittedAt;
  }

  #addUsage(data: unknown): void {
    for (const [name, value] of Object.entries(data ?? {})) {
      if (Number.isFinite(value)) this.#usage.set(name, (this.#usage.get(name) ?? 0) + (value as number));
    }
  }
}

/** A run that this process has not admitted has waited longer than this process knows it. */
function waitedMs({ createdAt, startedAt }: RunRecord, knownMs: number): number {
  return startedAt === undefined ? knownMs : Math.max(knownMs, startedAt - createdAt);
}

function filesOf({ parts }: Query): { files: number; fileBytes: number } {
  const sizes = parts.flatMap((part) => (part.type === 'file' ? [part.file.size] : []));
  return { files: sizes.length, fileBytes: sizes.reduce((sum, size) => sum + size, 0) };
}

/** The run as listeners are told about it. */
export function observed({ id, owner, sessionId, attempt, trace }: RunRecord): ObservedRun {
  const traceId = trace === undefined ? undefined : traceIdOf(trace);
  return { id, owner: ownerOfModule(owner).owner, sessionId, attempt, traceId };
}
