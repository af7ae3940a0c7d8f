import { setTimeout } from 'node:timers/promises';
import type { Registry } from 'prom-client';

/** Metrics of prom-client whose names are not those of their kind: gauges with the ending of a counter. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Until then the event loop is not measured, of which prom-client would show a delay of centuries. */
const MEASURED_MS = 30;

let made: Promise<Registry> | undefined;

/**
 * The metrics of the process: memory, CPU, garbage collection, event loop delay. They are made once, also for several
 * applications of a process, because what observes a process for them cannot be ended.
 *
 * @param library prom-client
 */
export function processMetrics(library: typeof import('prom-client')): Promise<Registry> {
  return (made ??= begin(library));
}

async function begin({ Registry, collectDefaultMetrics }: typeof import('prom-client')): Promise<Registry> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  await setTimeout(MEASURED_MS);
  return registry;
}
