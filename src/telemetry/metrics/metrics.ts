import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { COUNTERS, type Definitions, GAUGES, HISTOGRAMS, type HistogramDefinitions } from './definitions.js';
import { processMetrics } from './process-metrics.js';

/** The metrics of one query module. */
export interface ModuleMetrics {
  /** Adds to a counter. Default 1; 0 makes the counter appear. */
  count(name: keyof typeof COUNTERS, label?: string, by?: number): void;
  /** Sets a counter to what something else has counted. */
  setTotal(name: keyof typeof COUNTERS, total: number): void;
  /** Sets a gauge; without a value it is absent. */
  set(name: keyof typeof GAUGES, value: number | undefined): void;
  /** Adds a time in milliseconds to a histogram. */
  observe(name: keyof typeof HISTOGRAMS, milliseconds: number, label?: string): void;
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
    for (const [key, { label, ...rest }] of Object.entries(COUNTERS as Definitions))
      this.#counters[key] = new library.Counter({ ...rest, labelNames: labelNames(label), registers });
    for (const [key, { label, ...rest }] of Object.entries(GAUGES as Definitions))
      this.#gauges[key] = new library.Gauge({ ...rest, labelNames: labelNames(label), registers });
    for (const [key, { label, ...rest }] of Object.entries(HISTOGRAMS as HistogramDefinitions))
      this.#histograms[key] = new library.Histogram({ ...rest, labelNames: labelNames(label), registers });
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
    const labels = (name: string | undefined, value: string | undefined) =>
      name === undefined ? own : { ...own, [name]: value };
    const counters: Definitions = COUNTERS;
    const histograms: HistogramDefinitions = HISTOGRAMS;
    return {
      count: (name, label, by = 1) =>
        this.#counters[name]!.inc(labels(counters[name]!.label, label) as object, by),
      setTotal: (name, total) => {
        this.#counters[name]!.remove(own as object);
        this.#counters[name]!.inc(own as object, total);
      },
      set: (name, value) => {
        if (value === undefined) this.#gauges[name]!.remove(own as object);
        else this.#gauges[name]!.set(own as object, value);
      },
      observe: (name, milliseconds, label) =>
        this.#histograms[name]!.observe(
          labels(histograms[name]!.label, label) as object,
          milliseconds / 1000,
        ),
    };
  }
}

function labelNames(label: string | undefined): string[] {
  return label === undefined ? ['module'] : ['module', label];
}
