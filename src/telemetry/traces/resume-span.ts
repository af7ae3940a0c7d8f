import type { Span } from '@opentelemetry/api';
import type { ResumeTrace, TracedRun } from '../../query/index.js';
import { recordError, RUN_ID } from './attributes.js';
import { spanContextOf } from './span-contexts.js';

/** The span of a caller that resumes a run. It belongs to the trace of the caller, and is linked to the span of the run. */
export class ResumeSpan implements ResumeTrace {
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
