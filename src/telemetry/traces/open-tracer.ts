import { refuseUnknown, type RunTracer } from '../../query/index.js';
import type { TracerOptions } from './attributes.js';

/**
 * Opens a tracer for OpenTelemetry. It needs the package `@opentelemetry/api` only. Spans go to the SDK that the process has
 * registered; without an SDK there are none.
 *
 * @param options everything has a default
 * @throws {TypeError} an option is unknown · Error with a sentence for the operator: the package is missing
 *
 * @example
 * QueryModule.forRootAsync({
 *   handler: MyHandler,
 *   useFactory: async () => ({ tracer: await openTracer({ agentName: 'support' }) }),
 * })
 */
export async function openTracer(options: TracerOptions = {}): Promise<RunTracer> {
  refuseUnknown('openTracer', options, { agentName: true, providerName: true });
  const { OpenTelemetryTracer } = await import('./open-telemetry-tracer.js').catch(explainMissingPackage);
  return new OpenTelemetryTracer(options);
}

function explainMissingPackage(error: unknown): never {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
  const message = 'Traces need a package that is not installed. Run npm install @opentelemetry/api.';
  throw new Error(message, { cause: error });
}
