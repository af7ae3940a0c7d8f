import type { Registry } from 'prom-client';

/** Metrics of prom-client whose names are not those of their kind: gauges with the ending of a counter. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

let made: Registry | undefined;

/**
 * The metrics of the process: memory, CPU, garbage collection, event loop delay. They are made once, also for several
 * applications of a process, because what observes a process for them cannot be ended.
 *
 * @param library prom-client
 */
export function processMetrics(library: typeof import('prom-client')): Registry {
  if (made) return made;
  made = new library.Registry();
  library.collectDefaultMetrics({ register: made });
  for (const name of MISNAMED) made.removeSingleMetric(name);
  return made;
}
