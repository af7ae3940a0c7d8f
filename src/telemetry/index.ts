/**
 * What operators can observe of query modules: `nest-agent-query/telemetry`. Its optional packages are loaded only where they
 * are used: `prom-client` by `MetricsModule`.
 *
 * WARNING: hosts depend on every name below, as on those of the package root.
 */
export { HealthController } from './health.controller.js';
export { QueryLog } from './log/query-log.js';
export { MetricsModule, type MetricsOptions } from './metrics/metrics.module.js';
export { MetricsServer } from './metrics/metrics-server.js';
export { Metrics } from './metrics/metrics.js';
export { QueryMetrics } from './metrics/query-metrics.js';
export { type QueryHealth, QueryHealthIndicator } from './query-health.indicator.js';
export { type Version, VersionController } from './version.controller.js';
export { openTracer } from './traces/open-tracer.js';
export type { TracerOptions } from './traces/attributes.js';
