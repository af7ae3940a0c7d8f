import { Logger } from '@nestjs/common';
import { QueryError } from '../contract/errors.js';
import { traceOf } from '../contract/trace-context.js';
import type { RunEnd } from 'nest-agent-query-client';
import type { CallerRequest } from '../options/query.options.js';
import type { RunRecord } from '../ports/run-store.js';
import type { ResumeTrace, RunTrace, RunTracer, TracedRun } from '../ports/run-tracer.js';

const logger = new Logger('RunTracer');

/** The trace of a request, if it has a valid one. */
export function traceOfRequest(request: CallerRequest | undefined): string | undefined {
  const traceparent = request?.headers?.['traceparent'];
  return traceparent === undefined ? undefined : traceOf(traceparent, request!.headers['tracestate']);
}

/** Tells the tracer of the module what happens to runs. Nothing here throws what a tracer throws. */
export class Traces {
  /** @param tracer undefined for none: then there are no traces, and nothing is done */
  constructor(private readonly tracer: RunTracer | undefined) {}

  submitted(run: Omit<TracedRun, 'attempt'>): GuardedTrace | undefined {
    const { tracer } = this;
    return tracer && GuardedTrace.of(() => tracer.submitted(run));
  }

  taken(run: RunRecord): GuardedTrace | undefined {
    const { tracer } = this;
    return tracer && GuardedTrace.of(() => tracer.taken(run));
  }

  async resumed<T>(
    after: number,
    request: CallerRequest | undefined,
    find: () => Promise<RunRecord>,
    follow: (run: RunRecord) => Promise<T>,
  ): Promise<T> {
    const { tracer } = this;
    const trace = tracer && guarded(() => tracer.resumed(after, traceOfRequest(request)));
    if (!trace) return follow(await find());
    return traced(trace, find, follow);
  }
}

async function traced<T>(
  trace: ResumeTrace,
  find: () => Promise<RunRecord>,
  follow: (run: RunRecord) => Promise<T>,
): Promise<T> {
  try {
    const run = await find();
    guarded(() => trace.found(run));
    const followed = await follow(run);
    guarded(() => trace.ended(undefined));
    return followed;
  } catch (error) {
    guarded(() => trace.ended(codeOf(error)));
    throw error;
  }
}

/** The trace of one run. Its methods are those of `RunTrace`. */
export class GuardedTrace implements RunTrace {
  private constructor(private readonly traced: RunTrace) {}

  static of(make: () => RunTrace | undefined): GuardedTrace | undefined {
    const trace = guarded(make);
    return trace && new GuardedTrace(trace);
  }

  get trace(): string | undefined {
    return this.traced.trace;
  }

  within<T>(step: () => T): T {
    return this.traced.within(step);
  }

  admitted(waits: boolean): void {
    guarded(() => this.traced.admitted(waits));
  }

  repeated(run: TracedRun): void {
    guarded(() => this.traced.repeated(run));
  }

  refused(error: unknown): void {
    guarded(() => this.traced.refused(codeOf(error)));
  }

  started(attempt: number): void {
    guarded(() => this.traced.started(attempt));
  }

  stopped(end: RunEnd | undefined, usage: Readonly<Record<string, number>>): void {
    guarded(() => this.traced.stopped(end, usage));
  }

  ended(end: RunEnd | undefined): void {
    guarded(() => this.traced.ended(end));
  }
}

function codeOf(error: unknown): string {
  return error instanceof QueryError ? error.code : 'internal';
}

function guarded<T>(tell: () => T): T | undefined {
  try {
    return tell();
  } catch (error) {
    logger.error('The tracer failed.', error instanceof Error ? error.stack : String(error));
    return undefined;
  }
}
