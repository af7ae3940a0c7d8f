import type { RunEnd } from 'nest-agent-query-client';
import type { RunRecord } from './run-store.js';

/** A run, as a tracer is told about it: without contents of the query and of the answer. */
export type TracedRun = Pick<RunRecord, 'id' | 'sessionId' | 'attempt' | 'trace'>;

/** What a tracer records of one run in this process. */
export interface RunTrace {
  /** What is kept with the run, so that other processes continue the trace: see `Admission.trace`. */
  readonly trace: string | undefined;
  /** Calls a step of the admission or of the handler once, at once, in the context of its span, and returns what it returns. */
  within<T>(step: () => T): T;
  /** The query became a run. `waits`: in the queue of its session, or for a slot. */
  admitted(waits: boolean): void;
  /** The query has found the run that its idempotency key had started before. */
  repeated(run: TracedRun): void;
  /** The query did not become a run. `code`: an error code. */
  refused(code: string): void;
  /** The handler is called. The present async context is that of the query, if this process has admitted the run. */
  started(attempt: number): void;
  /** The run asks: its handler waits for answers. `requests`: how many it needs. */
  paused(requests: number): void;
  /** The handler of a run that has asked goes on, in the same process. */
  resumed(): void;
  /**
   * The handler has stopped, or has missed its stop deadline. `usage`: the sums of what it has emitted as `usage` envelopes.
   *
   * @param end undefined if the run has not ended: another attempt follows, or another process owns the run
   */
  stopped(end: RunEnd | undefined, usage: Readonly<Record<string, number>>): void;
  /** The run has ended; or this process is not told how it ends, and `end` is undefined. */
  ended(end: RunEnd | undefined): void;
}

/** What a tracer records of a caller that follows a run that was admitted before. */
export interface ResumeTrace {
  found(run: TracedRun): void;
  /** The stream begins; or it does not, and `code` is the error code. */
  ended(code: string | undefined): void;
}

/**
 * Traces runs from their admission to their end. What a method throws is logged, and has no other effect. `openTracer` of
 * `nest-agent-query/telemetry` makes one for OpenTelemetry.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, tracer: new MyTracer() })
 */
export abstract class RunTracer {
  /**
   * A query was submitted. Called in the async context of the caller.
   *
   * @param run `trace` is that of the request, if it has a valid one
   * @returns undefined if the run is not traced
   */
  abstract submitted(run: Omit<TracedRun, 'attempt'>): RunTrace | undefined;

  /** This process executes a run that it has not admitted. */
  abstract taken(run: TracedRun): RunTrace;

  /**
   * A caller follows a run. Called in the async context of the caller.
   *
   * @param after the number of the last envelope that the caller has; 0 for none
   * @param trace that of the request, if it has a valid one
   */
  abstract resumed(after: number, trace: string | undefined): ResumeTrace;
}
