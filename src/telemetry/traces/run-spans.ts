import { type Context, context, type Span, type SpanContext, trace, type Tracer } from '@opentelemetry/api';
import type { RunEnd, RunTrace, TracedRun } from '../../query/index.js';
import {
  ATTEMPT,
  recordEnd,
  recordError,
  recordUsage,
  REPEATED,
  REQUESTS,
  RUN_ID,
  WAITS,
} from './attributes.js';
import { spanContextOf, traceOfSpan } from './span-contexts.js';

/** A span, and the context in which it is the present one. */
interface Scope {
  span: Span;
  context: Context;
}

/**
 * The spans of one run in this process: that of the run itself, if this process has admitted it, and below it those of the
 * admission and of the execution.
 */
export class RunSpans implements RunTrace {
  #admission: Scope | undefined;
  #execution: Scope | undefined;
  #pause: Span | undefined;

  /**
   * @param id of the run
   * @param parent the span of the run, in whichever process; undefined if it is not known
   * @param run the span of the run; undefined if another process has it, or it has ended
   */
  private constructor(
    private readonly tracer: Tracer,
    private readonly id: string,
    readonly trace: string | undefined,
    private readonly parent: SpanContext | undefined,
    private run?: Span,
  ) {}

  /** @param run the span of the run, which has just begun */
  static submitted(tracer: Tracer, id: string, run: Span): RunSpans {
    const parent = run.spanContext();
    const spans = new RunSpans(tracer, id, traceOfSpan(parent), parent, run);
    spans.#admission = spans.#begin('admit_run', {});
    return spans;
  }

  static taken(tracer: Tracer, run: TracedRun): RunSpans {
    return new RunSpans(tracer, run.id, run.trace, spanContextOf(run.trace));
  }

  within<T>(step: () => T): T {
    const scope = this.#execution ?? this.#admission;
    return scope ? context.with(scope.context, step) : step();
  }

  admitted(waits: boolean): void {
    this.#admission?.span.setAttribute(WAITS, waits);
    this.#endAdmission();
  }

  repeated(run: TracedRun): void {
    const link = spanContextOf(run.trace);
    for (const span of [this.#admission?.span, this.run]) {
      span?.setAttributes({ [RUN_ID]: run.id, [REPEATED]: true });
      if (link) span?.addLink({ context: link });
    }
    this.#endAdmission();
    this.ended(undefined);
  }

  refused(code: string): void {
    for (const span of [this.#admission?.span, this.run]) if (span) recordError(span, code);
    this.#endAdmission();
    this.ended(undefined);
  }

  started(attempt: number): void {
    this.#execution = this.#begin('execute_run', { [ATTEMPT]: attempt });
  }

  paused(requests: number): void {
    this.#pause = this.#begin('await_input', { [REQUESTS]: requests }).span;
  }

  resumed(): void {
    this.#pause?.end();
    this.#pause = undefined;
  }

  stopped(end: RunEnd | undefined, usage: Readonly<Record<string, number>>): void {
    this.resumed();
    const span = this.#execution?.span;
    if (!span) return;
    this.#execution = undefined;
    // Once in a trace, so that nobody adds it up twice.
    recordUsage(this.run ?? span, usage);
    if (end) recordEnd(span, end);
    span.end();
  }

  ended(end: RunEnd | undefined): void {
    const span = this.run;
    if (!span) return;
    this.run = undefined;
    if (end) recordEnd(span, end);
    span.end();
  }

  #endAdmission(): void {
    this.#admission?.span.end();
    this.#admission = undefined;
  }

  #begin(name: string, attributes: Record<string, string | number>): Scope {
    const active = context.active();
    const { parent } = this;
    const within = parent ? trace.setSpanContext(active, parent) : trace.deleteSpan(active);
    const span = this.tracer.startSpan(name, { attributes: { [RUN_ID]: this.id, ...attributes } }, within);
    return { span, context: trace.setSpan(active, span) };
  }
}
