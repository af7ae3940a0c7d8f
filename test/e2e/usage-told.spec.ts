import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { QueryModule, type QueryModuleOptions, usage, type UsageAdded } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { MetricsModule, QueryMetrics } from '../../src/telemetry/index.js';
import { promise } from '../promises.js';
import { ask } from '../support/client.js';
import { quickCommand } from '../support/command-line.js';
import { describeOnOneAdapter, startAgent, startHost } from '../support/host.js';
import { scrape } from '../support/metrics.js';
import { openDatabase } from '../support/postgres.js';
import { serve } from '../support/service.js';

const today = () => new Date().toISOString().slice(0, 10);

/** Uses ten tokens. */
async function* handler() {
  yield usage({ inputTokens: 7, outputTokens: 3, cachedInputTokens: 2, model: 'm' });
}

const endOf = async (url: string, options: Parameters<typeof ask>[2] = {}) => {
  const answer = await (await ask(url, 'Hello', options)).whole();
  return /"code":"\w+"|"status":"\w+"/g.exec(answer.slice(answer.lastIndexOf('"done"')))![0];
};

describeOnOneAdapter('Usage that a host on %s tells', (adapter) => {
  it(promise('usage.told'), async () => {
    const told: UsageAdded[] = [];
    const query = QueryModule.forRoot({
      handler,
      price: () => 0.5,
      listeners: [QueryMetrics, { used: (event: UsageAdded) => told.push(event) }],
    } as QueryModuleOptions);
    @Module({ imports: [MetricsModule.forRoot(), query] })
    class ObservedModule {}
    const host = await startHost(adapter, ObservedModule);
    const asked = await ask(host.url);
    await asked.whole();
    expect(told).toEqual([
      {
        run: expect.objectContaining({ id: asked.runId, owner: 'anonymous' }),
        usage: { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2, model: 'm' },
        price: 0.5,
      },
    ]);
    expect(await scrape(host.url)).toMatchObject({
      'tokens_total{model="m",kind="input"}': 7,
      'tokens_total{model="m",kind="output"}': 3,
      'tokens_total{model="m",kind="cached_input"}': 2,
    });
    await host.close();
  });

  it(promise('cli.usage'), async () => {
    const host = await startAgent(adapter, handler);
    const run = (...parameters: string[]) =>
      quickCommand(['usage', ...parameters], { AGENT_QUERY_URL: host.url });
    await endOf(host.url, { kwargs: { session_id: 's' } });
    await endOf(host.url);
    const counts = '"runs":2,"inputTokens":14,"outputTokens":6,"reasoningTokens":0,"cachedInputTokens":4';
    expect(await run('--json')).toEqual({ stdout: `{"day":"${today()}",${counts}}\n`, stderr: '', code: 0 });
    expect((await run('--by', 'model', '--from', today(), '--to', today(), '--json')).stdout).toBe(
      `{"model":"m",${counts}}\n`,
    );
    const { stdout } = await run('--by', 'session', '--session', 's');
    expect(stdout.replaceAll(/ +/g, ' ')).toBe(
      'SESSION RUNS INPUT OUTPUT REASONING CACHED PRICE\ns 1 7 3 0 2 -\n',
    );
    expect(await run('--from', 'today')).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('must be a day such as 2026-11-25'),
      code: 3,
    });
    await host.close();
  });

  it(promise('budget.processes'), async () => {
    const database = await openDatabase();
    const start = async () =>
      startAgent(adapter, handler, {
        store: await openStore(database.url),
        budgets: [{ per: 'day', tokens: 20 }],
      });
    const hosts = await Promise.all([start(), start()]);
    for (const { url } of hosts) expect(await endOf(url)).toBe('"status":"completed"');
    for (const { url } of hosts) expect((await ask(url)).status).toBe(429);
    for (const host of hosts) await host.close();
    await database.close();
  });
});

describe('The budgets of the service', () => {
  it.each([
    [{ TOKENS_PER_DAY: '10' }, ['"status":"completed"', 429]],
    [
      { TOKENS_PER_MONTH: '11', TOKENS_PER_DAY: '100' },
      ['"status":"completed"', '"status":"completed"', 429],
    ],
    [{ TOKENS_PER_MONTH: '11', HARD_BUDGETS: 'true' }, ['"status":"completed"', '"status":"failed"', 429]],
  ])(promise('budget.variables', '%j'), async (variables, expected) => {
    const directory = await mkdtemp(join(tmpdir(), 'budgets-'));
    const agent = `export default async function* () {
      yield { type: 'usage', data: { inputTokens: 7, outputTokens: 3 } };
    }`;
    await writeFile(join(directory, 'my-agent.mjs'), agent);
    const service = await serve({ AGENT: './my-agent.mjs', ...variables }, directory);
    for (const each of expected) {
      if (typeof each === 'string') expect(await endOf(service.url)).toBe(each);
      else expect((await ask(service.url)).status).toBe(each);
    }
    await service.stop();
    await rm(directory, { recursive: true });
  });
});
