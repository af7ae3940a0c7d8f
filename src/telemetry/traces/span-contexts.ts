import { createTraceState, type SpanContext } from '@opentelemetry/api';
import { traceOf } from '../../query/index.js';

/** The span that a trace names, as a span of another process; undefined if there is none. */
export function spanContextOf(trace: string | undefined): SpanContext | undefined {
  if (trace === undefined) return undefined;
  const [traceparent, tracestate] = separated(trace);
  // What a store returns is not trusted.
  if (traceOf(traceparent, undefined) === undefined) return undefined;
  const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string];
  return {
    traceId,
    spanId,
    traceFlags: parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}

/** A span as a trace that is kept with a run; undefined for a span that is part of no trace. */
export function traceOfSpan({ traceId, spanId, traceFlags, traceState }: SpanContext): string | undefined {
  const flags = traceFlags.toString(16).padStart(2, '0');
  return traceOf(`00-${traceId}-${spanId}-${flags}`, traceState?.serialize());
}

function separated(trace: string): [traceparent: string, tracestate: string | undefined] {
  const end = trace.indexOf(' ');
  return end === -1 ? [trace, undefined] : [trace.slice(0, end), trace.slice(end + 1)];
}
