import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  COUNTERS,
  type Definition,
  type Definitions,
  GAUGES,
  HISTOGRAMS,
  type HistogramDefinitions,
} from './definitions.js';
import { processMetrics } from './process-metrics.js';

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
  readonly #ofProcess: Registry;
  readonly #ofModules: Registry;
  readonly #counters: Record<string, Counter> = {};
  readonly #gauges: Record<string, Gauge> = {};
  readonly #histograms: Record<string, Histogram> = {};
  readonly #refreshes: (() => Promise<void>)[] = [];

  private constructor(library: typeof import('prom-client')) {
    this.#ofProcess = processMetrics(library);
    this.#ofModules = new library.Registry();
    const registers = [this.#ofModules];
    for (const [key, { labels, ...rest }] of Object.entries(COUNTERS as Definitions))
      this.#counters[key] = new library.Counter({ ...rest, labelNames: labelNames(labels), registers });
    for (const [key, { labels, ...rest }] of Object.entries(GAUGES as Definitions))
      this.#gauges[key] = new library.Gauge({ ...rest, labelNames: labelNames(labels), registers });
    for (const [key, { labels, ...rest }] of Object.entries(HISTOGRAMS as HistogramDefinitions))
      this.#histograms[key] = new library.Histogram({ ...rest, labelNames: labelNames(labels), registers });
  }

  /** Loads prom-client, and makes the metrics. Its global registry stays as it is. */
  static async load(): Promise<Metrics> {
    return new Metrics(await import('prom-client'));
  }

  /** The content type of `text()`: the text format of Prometheus. */
  get contentType(): string {
    return this.#ofModules.contentType;
  }

  /** Returns all metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    await Promise.all(this.#refreshes.map((refresh) => refresh()));
    const texts = await Promise.all([this.#ofModules.metrics(), this.#ofProcess.metrics()]);
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
    const own = module === undefined ? {} : { module };
    const labelled = ({ labels = [] }: Definition, values: readonly string[] = []) =>
      Object.assign({}, own, ...labels.map((name, index) => ({ [name]: values[index] }))) as object;
    const counters: Definitions = COUNTERS;
    const histograms: HistogramDefinitions = HISTOGRAMS;
    return {
      count: (name, labels, by = 1) => this.#counters[name]!.inc(labelled(counters[name]!, labels), by),
      setTotal: (name, total) => {
        this.#counters[name]!.remove(own as object);
        this.#counters[name]!.inc(own as object, total);
      },
      set: (name, value) => {
        if (value === undefined) this.#gauges[name]!.remove(own as object);
        else this.#gauges[name]!.set(own as object, value);
      },
      observe: (name, milliseconds, labels) =>
        this.#histograms[name]!.observe(labelled(histograms[name]!, labels), milliseconds / 1000),
    };
  }
}

function labelNames(labels: readonly string[] = []): string[] {
  return ['module', ...labels];
}
