import { context, propagation, trace } from '@opentelemetry/api';
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { eventually } from './conditions.js';

/** The spans that an SDK of OpenTelemetry has recorded in this process. */
export class Spans {
  readonly #exporter = new InMemorySpanExporter();
  readonly #provider: NodeTracerProvider;

  private constructor(sampler: Sampler) {
    const spanProcessors = [new SimpleSpanProcessor(this.#exporter)];
    this.#provider = new NodeTracerProvider({ sampler, spanProcessors });
  }

  /** Registers the SDK, with its context manager and its propagators. */
  static start(sampler: Sampler = new AlwaysOnSampler()): Spans {
    const spans = new Spans(sampler);
    spans.#provider.register();
    return spans;
  }

  /** Those that have ended, in the order of their ends. */
  get all(): ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  /** Those with a name, when there are at least so many. */
  async named(name: string, count = 1): Promise<ReadableSpan[]> {
    const named = () => this.all.filter((span) => span.name === name);
    await eventually(() => named().length >= count);
    return named();
  }

  /** The only one with a name. */
  async only(name: string): Promise<ReadableSpan> {
    const [span, ...others] = await this.named(name);
    if (others.length > 0) throw new Error(`There are ${others.length + 1} spans "${name}".`);
    return span!;
  }

  /** Removes the SDK. */
  async stop(): Promise<void> {
    await this.#provider.shutdown();
    for (const api of [trace, context, propagation]) api.disable();
  }
}

/** The id of a span, as its children and links have it. */
export const idOf = (span: ReadableSpan) => span.spanContext().spanId;
export const traceIdOfSpan = (span: ReadableSpan) => span.spanContext().traceId;
export const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId;
export const linksOf = (span: ReadableSpan) => span.links.map(({ context: { spanId } }) => spanId);

/** A traceparent for a request, with the ids in it. */
export function traceparentOf(number: number): { traceparent: string; traceId: string; spanId: string } {
  const traceId = `${number}`.padStart(32, 'a');
  const spanId = `${number}`.padStart(16, 'b');
  return { traceparent: `00-${traceId}-${spanId}-01`, traceId, spanId };
}
