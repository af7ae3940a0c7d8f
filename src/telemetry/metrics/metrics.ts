import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Metric, Registry } from 'prom-client';
import { CODE_FOLDER } from '../../query/index.js';
import { COUNTERS, type Definitions, GAUGES, HISTOGRAMS, type HistogramDefinitions } from './definitions.js';
import { processMetrics } from './process-metrics.js';
import { Tally } from './tally.js';

const NO_LABELS: readonly string[] = [];

type Tallies = Record<string, Tally>;

/** The metrics of one query module. */
export interface ModuleMetrics {
  /** Adds to a counter, with the values of its labels. Default 1; 0 makes the counter appear. */
  count(name: keyof typeof COUNTERS, labels?: readonly string[], by?: number): void;
  /** Sets a counter to what something else has counted. */
  setTotal(name: keyof typeof COUNTERS, total: number): void;
  /** Sets a gauge; without a value it is absent. */
  set(name: keyof typeof GAUGES, value: number | undefined): void;
  /** Adds a time in milliseconds to a histogram. */
  observe(name: keyof typeof HISTOGRAMS, milliseconds: number, labels?: readonly string[]): void;
}

/**
 * The metrics of an application: of its query modules, and of the process. `MetricsModule` exports it.
 *
 * @example
 * @Controller('internal/metrics')
 * class OwnMetricsController {
 *   constructor(private readonly metrics: Metrics) {}
 *
 *   @Get()
 *   async show(): Promise<string> {
 *     return `${await this.metrics.text()}\n${await ownRegistry.metrics()}`;
 *   }
 * }
 */
export class Metrics {
  readonly #all: Tally[] = [];
  #registries: Promise<Registry[]> | undefined;
  readonly #counters: Tallies = {};
  readonly #gauges: Tallies = {};
  readonly #histograms: Tallies = {};
  readonly #refreshes: (() => Promise<void>)[] = [];

  private constructor() {
    for (const [key, definition] of Object.entries(COUNTERS as Definitions))
      this.#counters[key] = this.#shown(new Tally('counter', definition));
    for (const [key, definition] of Object.entries(GAUGES as Definitions))
      this.#gauges[key] = this.#shown(new Tally('gauge', definition));
    for (const [key, definition] of Object.entries(HISTOGRAMS as HistogramDefinitions))
      this.#histograms[key] = this.#shown(new Tally('histogram', definition, definition.buckets));
  }

  /**
   * Makes the metrics. Those of the process are measured from the first `text()` on, which loads prom-client. Its global registry
   * stays as it is.
   *
   * @throws {Error} prom-client is not installed
   */
  static async load(): Promise<Metrics> {
    // It may be a part of a bundle.
    if (!isInstalled()) await import('prom-client');
    return new Metrics();
  }

  /** The content type of `text()`: the text format of Prometheus. */
  get contentType(): string {
    return 'text/plain; version=0.0.4; charset=utf-8';
  }

  /** Returns all metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    const registries = await (this.#registries ??= this.#open());
    await Promise.all(this.#refreshes.map((refresh) => refresh()));
    const texts = await Promise.all(registries.map((registry) => registry.metrics()));
    return texts.join('\n');
  }

  /**
   * Returns the metrics of one query module.
   *
   * @param module its name, which is the value of the label `module`; undefined for the module without a name
   * @param refresh called before each `text()`, to set what no event sets. It must not reject
   */
  of(module: string | undefined, refresh: () => Promise<void>): ModuleMetrics {
    this.#refreshes.push(refresh);
    return {
      count: (name, labels = NO_LABELS, by = 1) => this.#counters[name]!.add(module, labels, by),
      setTotal: (name, total) => this.#counters[name]!.set(module, total),
      set: (name, value) => this.#gauges[name]!.set(module, value),
      observe: (name, milliseconds, labels = NO_LABELS) =>
        this.#histograms[name]!.observe(module, labels, milliseconds / 1000),
    };
  }

  #shown(tally: Tally): Tally {
    this.#all.push(tally);
    return tally;
  }

  /** The registries of the query modules and of the process. To load them takes a twentieth of the start of a service. */
  async #open(): Promise<Registry[]> {
    const library = await import('prom-client');
    const ofModules = new library.Registry();
    for (const tally of this.#all) ofModules.registerMetric(tally as unknown as Metric);
    return [ofModules, await processMetrics(library)];
  }
}

function isInstalled(): boolean {
  try {
    createRequire(join(CODE_FOLDER, 'index.js')).resolve('prom-client');
    return true;
  } catch {
    return false;
  }
}
