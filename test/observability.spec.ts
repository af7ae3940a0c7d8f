import { execFile, execFileSync } from 'node:child_process';
import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Module } from '@nestjs/common';
import { parse } from 'yaml';
import { message, QueryModule } from '../src/index.js';
import { TIMED_OPERATIONS } from '../src/query/ports/run-listener.js';
import { MetricsModule, QueryMetrics } from '../src/telemetry/index.js';
import { COUNTERS, GAUGES, HISTOGRAMS } from '../src/telemetry/metrics/definitions.js';
import { ask, get } from './support/client.js';
import { startHost } from './support/host.js';
import { read, ROOT, tableRows } from './support/documents.js';

const run = promisify(execFile);

/** The metrics of a host that has answered a query and refused another one. */
async function shownMetrics(): Promise<string> {
  const handler = async function* () {
    yield message('Hi');
  };
  @Module({ imports: [MetricsModule.forRoot(), QueryModule.forRoot({ handler, listeners: [QueryMetrics] })] })
  class ObservedModule {}
  const host = await startHost('fastify', ObservedModule);
  await (await ask(host.url)).whole();
  await (await get(host.url, '/query/none')).whole();
  const text = await (await get(host.url, '/metrics')).whole();
  await host.close();
  return text;
}

/** The names of metrics in an expression of PromQL. */
function namesIn(expression: string): string[] {
  return expression.match(/\b(?:agent_query|nodejs|process)_\w+/g) ?? [];
}

interface Dashboard {
  panels: { id: number; title: string; gridPos: { x: number; w: number }; targets?: { expr: string }[] }[];
}
interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
}

describe('What operators are given', () => {
  let metrics: string;
  let names: Set<string>;
  const dashboard = JSON.parse(read('docs/grafana-dashboard.json')) as Dashboard;
  const rules = (parse(read('docs/alert-rules.yml')) as Rules).groups.flatMap((group) => group.rules);

  beforeAll(async () => {
    metrics = await shownMetrics();
    names = new Set();
    for (const [, name, type] of metrics.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
      if (type !== 'histogram') names.add(name!);
      else for (const ending of ['_bucket', '_sum', '_count']) names.add(name! + ending);
    }
  });

  it('is a dashboard whose metrics all exist', () => {
    const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const used = expressions.flatMap(namesIn);
    expect(used.length).toBeGreaterThan(30);
    expect(used.filter((name) => !names.has(name))).toEqual([]);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(dashboard.panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  it('names only operations of a store that are timed', () => {
    const text = read('docs/alert-rules.yml') + read('docs/grafana-dashboard.json');
    const named = [...text.matchAll(/operation=~?\\?"([^"\\]+)/g)].flatMap(([, names]) => names!.split('|'));
    expect(named.length).toBeGreaterThan(0);
    expect(
      named.filter((name) => ![...TIMED_OPERATIONS, 'append', 'read'].some((each) => each === name)),
    ).toEqual([]);
  });

  it('is a dashboard with every metric of query modules', () => {
    const used = new Set(
      dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => namesIn(expr))),
    );
    const defined = [...Object.values(COUNTERS), ...Object.values(GAUGES)].map(({ name }) => name);
    const histograms = Object.values(HISTOGRAMS).map(({ name }) => `${name}_bucket`);
    expect([...defined, ...histograms].filter((name) => !used.has(name))).toEqual([]);
  });

  it('are rules whose metrics all exist', () => {
    const used = rules
      .flatMap(({ expr, annotations }) => [expr, ...Object.values(annotations)])
      .flatMap(namesIn);
    expect(used.length).toBeGreaterThan(10);
    const series = new Set([...names, ...Object.values(HISTOGRAMS).map(({ name }) => name)]);
    expect(used.filter((name) => !series.has(name))).toEqual([]);
  });

  it('is a page with every metric and its kind, and with every rule', () => {
    const rows = tableRows('docs/observability.md');
    const shown = rows
      .filter(({ heading }) => heading[0] === 'Metric')
      .map(({ cells: [name, kind] }) => [name, kind]);
    const expected = [
      ...Object.values(COUNTERS).map(({ name }) => [`\`${name}\``, 'counter']),
      ...Object.values(GAUGES).map(({ name }) => [`\`${name}\``, 'gauge']),
      ...Object.values(HISTOGRAMS).map(({ name }) => [`\`${name}\``, 'histogram']),
    ];
    expect(shown.sort()).toEqual(expected.sort());
    const alerts = rows.filter(({ heading }) => heading[0] === 'Alert').map(({ cells: [name] }) => name);
    expect(alerts).toEqual(rules.map(({ alert }) => `\`${alert}\``));
  });

  withPromtool('are metrics, rules and tests of rules that promtool accepts', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-promtool-'));
    const file = join(directory, 'metrics.txt');
    await writeFile(file, metrics);
    try {
      const check = await run('sh', ['-c', 'promtool check metrics < "$1"', 'sh', file]);
      expect(check).toEqual({ stdout: '', stderr: '' });
    } finally {
      await rm(directory, { recursive: true });
    }
    const rulesCheck = await run('promtool', ['check', 'rules', 'docs/alert-rules.yml'], { cwd: ROOT });
    expect(rulesCheck.stdout).toContain(`SUCCESS: ${rules.length} rules found`);
    const tests = await run('promtool', ['test', 'rules', 'test/fixtures/alert-rules.test.yml'], {
      cwd: ROOT,
    });
    expect(tests.stdout).toContain('SUCCESS');
  });
});

/** A test that needs promtool. It is skipped where there is none, unless `REQUIRE_PROMTOOL` is set, as in CI. */
function withPromtool(title: string, test: () => Promise<void>): void {
  const reason = 'promtool is not on this machine; it is in the package prometheus of Debian';
  const isRequired = process.env['REQUIRE_PROMTOOL'] !== undefined;
  if (isRequired || hasPromtool()) it(title, test);
  else it.skip(`${title} [skipped: ${reason}]`, test);
}

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
