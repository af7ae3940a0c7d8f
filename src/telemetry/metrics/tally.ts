import type { Definition } from './definitions.js';

/** One line of a metric. */
interface Sample {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}

/** What was counted with the same values of labels. */
interface Count {
  readonly labels: Record<string, string>;
  /** The number, or the sum of what was observed. */
  value: number;
  /** How often something was observed. */
  observed: number;
  /** How much of it belongs to each bucket, and not to the one before. */
  readonly inBuckets: number[];
}

/**
 * A metric that counts in plain numbers. The metrics of prom-client check, sort and join their labels whenever they count, which
 * takes a twentieth of a small query. A registry of prom-client shows this one as it shows its own: by `get`.
 */
export class Tally {
  readonly name: string;
  readonly help: string;
  readonly #labelNames: readonly string[];
  readonly #counts = new Map<string, Count>();

  /** @param buckets the upper bounds of a histogram, in their order; none for other types */
  constructor(
    readonly type: 'counter' | 'gauge' | 'histogram',
    { name, help, labels = [] }: Definition,
    private readonly buckets: readonly number[] = [],
  ) {
    this.name = name;
    this.help = help;
    this.#labelNames = labels;
  }

  /**
   * Adds to the number.
   *
   * @param module the value of the label `module`; undefined if there is none
   * @param values the values of the other labels
   * @param by 0 makes the number appear
   * @throws {TypeError} `by` is negative, or no finite number
   */
  add(module: string | undefined, values: readonly string[], by: number): void {
    if (by < 0) throw new TypeError(`The metric ${this.name} cannot count ${by}, which is negative.`);
    this.#countOf(module, values).value += this.#finite(by);
  }

  /** Puts a total in place of the number. Undefined removes it. */
  set(module: string | undefined, total: number | undefined): void {
    if (total === undefined) this.#counts.delete(keyOf(module, []));
    else this.#countOf(module, []).value = total;
  }

  /** Adds a value to a histogram. @throws {TypeError} the value is no finite number */
  observe(module: string | undefined, values: readonly string[], value: number): void {
    const count = this.#countOf(module, values);
    count.value += this.#finite(value);
    count.observed++;
    const bucket = this.buckets.findIndex((bound) => value <= bound);
    if (bucket >= 0) count.inBuckets[bucket]!++;
  }

  /** What a registry of prom-client asks each of its metrics for. */
  get(): Promise<Pick<Tally, 'name' | 'help' | 'type'> & { values: Sample[]; aggregator: string }> {
    const { name, help, type } = this;
    const toSamples = type === 'histogram' ? this.#histogramOf : this.#numberOf;
    const values = [...this.#counts.values()].flatMap(toSamples);
    return Promise.resolve({ name, help, type, values, aggregator: 'sum' });
  }

  readonly #numberOf = ({ labels, value }: Count): Sample[] => [{ metricName: this.name, labels, value }];

  readonly #histogramOf = ({ labels, value, observed, inBuckets }: Count): Sample[] => {
    let upTo = 0;
    const metricName = `${this.name}_bucket`;
    const buckets = this.buckets.map((le, index) => {
      return { metricName, labels: { le, ...labels }, value: (upTo += inBuckets[index]!) };
    });
    return [
      ...buckets,
      { metricName, labels: { le: '+Inf', ...labels }, value: observed },
      { metricName: `${this.name}_sum`, labels, value },
      { metricName: `${this.name}_count`, labels, value: observed },
    ];
  };

  #countOf(module: string | undefined, values: readonly string[]): Count {
    const key = keyOf(module, values);
    const known = this.#counts.get(key);
    if (known) return known;
    const labels: Record<string, string> = module === undefined ? {} : { module };
    for (const [index, name] of this.#labelNames.entries()) labels[name] = values[index]!;
    const count = { labels, value: 0, observed: 0, inBuckets: this.buckets.map(() => 0) };
    this.#counts.set(key, count);
    return count;
  }

  #finite(value: number): number {
    if (Number.isFinite(value)) return value;
    throw new TypeError(`The metric ${this.name} cannot count ${value}, which is no finite number.`);
  }
}

function keyOf(module: string | undefined, values: readonly string[]): string {
  return `${module ?? ''}\0${values.join('\0')}`;
}
