/** What operators can observe of the service. */
export { HealthController } from './health.controller.js';
export { openTracer } from './traces/open-tracer.js';
export type { TracerOptions } from './traces/tracer-options.js';
