import { type Span, trace } from '@opentelemetry/api';
import {
  type Envelope,
  QueryModule,
  type QueryModuleOptions,
  type RunListener,
  type RunOptions,
} from '../../src/index.js';
import { openTracer } from '../../src/telemetry/index.js';
import { type AdapterName, type Host, startHost } from './host.js';

/** The name of the span of a run. */
export const RUN_SPAN = 'invoke_agent tester';

export const USAGE: Envelope = { type: 'usage', data: { inputTokens: 5, outputTokens: 7, model: 'm' } };

/** Makes a span, as an instrumented model would. */
export function step(name: string): void {
  trace.getTracer('model').startActiveSpan(name, (span: Span) => span.end());
}

/** Starts a host whose runs are traced, unless the options have another tracer. When it is closed, it does not wait for runs. */
export async function startTraced(
  adapter: AdapterName,
  handler: QueryModuleOptions['handler'],
  options: Partial<QueryModuleOptions> & { runs?: Partial<RunOptions>; listeners?: RunListener[] } = {},
): Promise<Host> {
  const tracer = await openTracer({ agentName: 'tester' });
  const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
  return startHost(adapter, QueryModule.forRoot({ tracer, ...options, handler, runs }));
}
