/**
 * The headers of a trace (W3C Trace Context).
 *
 * @param trace that of a run: see `QueryContext.trace`
 *
 * @example
 * const headers = { ...traceHeaders(context.trace) };
 */
export function traceHeaders(trace: string | undefined): Record<string, string> {
  if (trace === undefined) return {};
  const [traceparent, tracestate] = trace.split(/ (.*)/s, 2);
  return { traceparent: traceparent!, ...(tracestate && { tracestate }) };
}
