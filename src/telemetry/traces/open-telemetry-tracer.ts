import {
  type Context,
  context,
  isSpanContextValid,
  type Span,
  SpanKind,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { type ResumeTrace, RunTracer, type RunTrace, type TracedRun } from '../../query/index.js';
import { AFTER, invocationOf, recordError, RUN_ID, type TracerOptions } from './attributes.js';
import { RunSpans } from './run-spans.js';
import { spanContextOf } from './span-contexts.js';

/** Makes spans of runs, in the SDK that is registered with `@opentelemetry/api`. */
export class OpenTelemetryTracer extends RunTracer {
  readonly #tracer: Tracer = trace.getTracer('nest-agent-query');
  readonly #name: string;

  constructor(private readonly options: TracerOptions) {
    super();
    const { agentName } = options;
    this.#name = agentName === undefined ? 'invoke_agent' : `invoke_agent ${agentName}`;
  }

  submitted(run: Omit<TracedRun, 'attempt'>): RunTrace | undefined {
    const options = { kind: SpanKind.INTERNAL, attributes: invocationOf(run, this.options) };
    const caller = callerContext(run.trace);
    const span = this.#tracer.startSpan(this.#name, options, caller);
    return isNew(span, caller) ? RunSpans.submitted(this.#tracer, run.id, span) : undefined;
  }

  taken(run: TracedRun): RunTrace {
    return RunSpans.taken(this.#tracer, run);
  }

  resumed(after: number, callerTrace: string | undefined): ResumeTrace {
    const attributes = { [AFTER]: after };
    return new ResumeSpan(this.#tracer.startSpan('resume_run', { attributes }, callerContext(callerTrace)));
  }
}

/** The span of a caller that resumes a run. It belongs to the trace of the caller, and is linked to the span of the run. */
class ResumeSpan implements ResumeTrace {
  constructor(private readonly span: Span) {}

  found({ id, trace }: TracedRun): void {
    this.span.setAttribute(RUN_ID, id);
    const link = spanContextOf(trace);
    if (link) this.span.addLink({ context: link });
  }

  ended(code: string | undefined): void {
    if (code !== undefined) recordError(this.span, code);
    this.span.end();
  }
}

/** Without an SDK, a span has the ids of its parent, or no valid ones. One that an SDK does not sample has ids of its own. */
function isNew(span: Span, parent: Context): boolean {
  const own = span.spanContext();
  return isSpanContextValid(own) && own.spanId !== trace.getSpanContext(parent)?.spanId;
}

/**
 * The present context, with the span of the caller. An active span wins: it is that of an instrumentation of HTTP, which has
 * read the request in the way that the operator wants, or that of the host.
 */
function callerContext(callerTrace: string | undefined): Context {
  const active = context.active();
  const span = trace.getSpanContext(active);
  if (span && isSpanContextValid(span)) return active;
  const remote = spanContextOf(callerTrace);
  return remote ? trace.setSpanContext(active, remote) : active;
}
