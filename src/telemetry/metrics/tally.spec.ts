import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { Tally } from './tally.js';

const BUCKETS = [0.1, 1, 10];

/** The text that a registry shows of a metric. */
function textOf(metric: Tally): Promise<string> {
  const registry = new Registry();
  registry.registerMetric(metric as unknown as Metric);
  return registry.metrics();
}

describe('A metric that counts in plain numbers', () => {
  it('is shown as a counter of prom-client with the same numbers', async () => {
    const own = new Tally('counter', { name: 'ended_total', help: 'Ended.', labels: ['status'] });
    const registry = new Registry();
    const labelNames = ['module', 'status'];
    const theirs = new Counter({
      name: 'ended_total',
      help: 'Ended.',
      labelNames,
      registers: [registry],
    });
    for (const [module, status, by] of [
      [undefined, 'failed', 0],
      ['a', 'completed', 1],
      ['a', 'completed', 2.5],
      ['b "c"\\', 'line\nbreak', 3],
    ] as const) {
      own.add(module, [status], by);
      theirs.inc({ ...(module !== undefined && { module }), status }, by);
    }
    expect(await textOf(own)).toBe(await registry.metrics());
    expect(await textOf(own)).toContain('ended_total{module="a",status="completed"} 3.5\n');
  });

  it('is shown as a histogram of prom-client that has observed the same values', async () => {
    const definition = { name: 'run_seconds', help: 'Time.', labels: ['status'] as const };
    const own = new Tally('histogram', definition, BUCKETS);
    const registry = new Registry();
    const theirs = new Histogram({
      name: 'run_seconds',
      help: 'Time.',
      labelNames: ['module', 'status'],
      buckets: BUCKETS,
      registers: [registry],
    });
    for (const value of [0, 0.1, 0.11, 1, 9.5, 10, 10.5, 4_000]) {
      own.observe('a', ['completed'], value);
      theirs.observe({ module: 'a', status: 'completed' }, value);
    }
    expect(await textOf(own)).toBe(await registry.metrics());
    expect(await textOf(own)).toContain('run_seconds_bucket{le="10",module="a",status="completed"} 6\n');
  });

  it('is shown as a gauge of prom-client, and not without a value', async () => {
    const own = new Tally('gauge', { name: 'running', help: 'Running.' });
    const registry = new Registry();
    const theirs = new Gauge({
      name: 'running',
      help: 'Running.',
      labelNames: ['module'],
      registers: [registry],
    });
    own.set('a', 3);
    own.set('b', 4);
    own.set('b', undefined);
    theirs.set({ module: 'a' }, 3);
    expect(await textOf(own)).toBe(await registry.metrics());
  });

  it('refuses what it cannot count, and keeps its number', async () => {
    const own = new Tally('counter', { name: 'tokens_total', help: 'Tokens.' });
    own.add(undefined, [], 2);
    expect(() => own.add(undefined, [], -1)).toThrow(
      new TypeError('The metric tokens_total cannot count -1, which is negative.'),
    );
    expect(() => own.add(undefined, [], NaN)).toThrow(
      new TypeError('The metric tokens_total cannot count NaN, which is no finite number.'),
    );
    expect(await textOf(own)).toContain('\ntokens_total 2\n');
  });
});
