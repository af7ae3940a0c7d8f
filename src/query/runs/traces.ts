import { Logger } from '@nestjs/common';
import { refusalOf } from '../contract/errors.js';
import { traceOf } from '../contract/trace-context.js';
import type { CallerRequest } from '../options/query.options.js';
import type { RunRecord } from '../ports/run-store.js';
import type { RunTrace, RunTracer, TracedRun } from '../ports/run-tracer.js';
import { stackForLog } from '../platform/text-for-log.js';

const logger = new Logger('RunTracer');

/** The trace of a request, if it has a valid one. */
export function traceOfRequest(request: CallerRequest | undefined): string | undefined {
  const { traceparent, tracestate } = request?.headers ?? {};
  return traceOf(traceparent, tracestate);
}

/** Tells the tracer of the module what happens to runs. Nothing here throws what a tracer throws. */
export class Traces {
  /** @param tracer undefined for none: then there are no traces, and nothing is done */
  constructor(private readonly tracer: RunTracer | undefined) {}

  submitted(run: Omit<TracedRun, 'attempt'>): RunTrace | undefined {
    return guarded(() => guardedTrace(this.tracer?.submitted(run)));
  }

  taken(run: RunRecord): RunTrace | undefined {
    return guarded(() => guardedTrace(this.tracer?.taken(run)));
  }

  async resumed<T>(
    after: number,
    request: CallerRequest | undefined,
    find: () => Promise<RunRecord>,
    follow: (run: RunRecord) => Promise<T>,
  ): Promise<T> {
    const { tracer } = this;
    const trace = tracer && guarded(() => tracer.resumed(after, traceOfRequest(request)));
    try {
      const run = await find();
      guarded(() => trace?.found(run));
      const followed = await follow(run);
      guarded(() => trace?.ended(undefined));
      return followed;
    } catch (error) {
      guarded(() => trace?.ended(refusalOf(error).code));
      throw error;
    }
  }
}

/** The same trace, whose methods do not throw; `within` throws what the step does. */
function guardedTrace(trace: RunTrace | undefined): RunTrace | undefined {
  if (!trace) return undefined;
  return {
    trace: trace.trace,
    within: (step) => withinTrace(trace, step),
    admitted: (waits) => guarded(() => trace.admitted(waits)),
    repeated: (run) => guarded(() => trace.repeated(run)),
    refused: (code) => guarded(() => trace.refused(code)),
    started: (attempt) => guarded(() => trace.started(attempt)),
    paused: (requests) => guarded(() => trace.paused(requests)),
    resumed: () => guarded(() => trace.resumed()),
    stopped: (end, usage) => guarded(() => trace.stopped(end, usage)),
    ended: (end) => guarded(() => trace.ended(end)),
  };
}

/** Does a step within a trace, also if the tracer fails before or after it. */
function withinTrace<T>(trace: RunTrace, step: () => T): T {
  let outcome: { value: T } | { thrown: unknown } | undefined;
  guarded(() =>
    trace.within(() => {
      try {
        outcome = { value: step() };
      } catch (thrown) {
        outcome = { thrown };
      }
    }),
  );
  if (!outcome) return step();
  if ('thrown' in outcome) throw outcome.thrown;
  return outcome.value;
}

function guarded<T>(tell: () => T): T | undefined {
  try {
    return tell();
  } catch (error) {
    logger.error('The tracer failed.', stackForLog(error));
    return undefined;
  }
}
