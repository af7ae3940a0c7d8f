import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import {
  type CanActivate,
  type DynamicModule,
  type INestApplication,
  Injectable,
  Module,
  UseGuards,
} from '@nestjs/common';
import {
  MemoryRunStore,
  message,
  type Query,
  type QueryContext,
  QueryError,
  QueryModule,
  type QueryModuleOptions,
  type RunStore,
} from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import {
  MetricsModule,
  type MetricsOptions,
  MetricsServer,
  QueryMetrics,
} from '../../src/telemetry/index.js';
import { promise } from '../promises.js';
import { answer } from '../support/answers.js';
import { ask, cancel, FULL, get, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import {
  type AdapterName,
  type Configure,
  describeOnOneAdapter,
  type Host,
  startHost,
} from '../support/host.js';
import { STORE_KINDS } from '../support/long-form.js';
import { scrape, type Series, seriesOf } from '../support/metrics.js';
import { openDatabase, type TestDatabase } from '../support/postgres.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

/** Asks three things at once. */
async function* questions(_: Query, context: QueryContext) {
  await context.ask([
    { key: 'a', kind: 'approval', message: 'May I?' },
    { key: 'b', kind: 'input', message: 'Which quarter?' },
    { key: 'c', kind: 'input', message: 'Which year?' },
  ]);
  yield message('Thanks');
}

const QUICK = { drainMs: 0, stopDeadlineMs: 100 };

/** A host with a module whose metrics are shown. */
function startObserved(
  adapter: AdapterName,
  options: QueryModuleOptions,
  metrics: MetricsOptions = {},
  configure?: Configure,
): Promise<Host> {
  const query = QueryModule.forRoot({
    ...options,
    runs: { ...QUICK, ...options.runs },
    listeners: [QueryMetrics],
  });
  @Module({ imports: [MetricsModule.forRoot(metrics), query] })
  class ObservedModule {}
  return startHost(adapter, ObservedModule, configure);
}

/** The series of times, of which only the number of observations is known beforehand. */
function withoutTimes(series: Series): Series {
  const isKnown = ([name]: [string, number]) => !/_seconds_sum/.test(name) && !name.startsWith('store_');
  return Object.fromEntries(Object.entries(series).filter(isKnown));
}

const fileOf = (bytes: number) => ({
  type: 'file',
  name: 'a.bin',
  mimeType: 'application/octet-stream',
  base64: Buffer.alloc(bytes, 1).toString('base64'),
});

describeOnOneAdapter('The metrics of a host on %s', (adapter) => {
  it(promise('module.metrics', 'while a run asks, and after the answers'), async () => {
    const host = await startObserved(adapter, { handler: questions });
    const run = await ask(host.url);
    await run.until('input_required');
    expect(await scrape(host.url)).toMatchObject({
      runs_asking: 1,
      inputs_open: 3,
      'inputs_asked_total{kind="approval"}': 1,
      'inputs_asked_total{kind="input"}': 2,
    });
    await answer(host.url, run.runId, { id: 'a', outcome: 'answered', value: { approved: true } });
    await answer(host.url, run.runId, { id: 'b', outcome: 'declined' });
    expect(await scrape(host.url)).toMatchObject({ runs_asking: 1, inputs_open: 1 });
    await cancel(host.url, run.runId);
    await run.whole();
    await host.idle();
    const series = await scrape(host.url);
    expect(series).toMatchObject({
      'inputs_resolved_total{kind="approval",outcome="answered"}': 1,
      'inputs_resolved_total{kind="input",outcome="declined"}': 1,
      'inputs_resolved_total{kind="input",outcome="cancelled"}': 1,
      'input_wait_seconds_count{kind="approval"}': 1,
      'input_wait_seconds_count{kind="input"}': 1,
    });
    for (const gauge of ['runs_asking', 'inputs_open']) expect(series).not.toHaveProperty(gauge);
    await host.close();
  });

  it(promise('module.metrics', 'ask the store once for what is open'), async () => {
    const store = new MemoryRunStore();
    const countOpen = jest.spyOn(store.inputs, 'countOpen');
    const host = await startObserved(adapter, { handler: questions, store });
    await scrape(host.url);
    expect(countOpen).toHaveBeenCalledTimes(1);
    await host.close();
  });

  it(promise('module.metrics', 'while runs execute and wait, and after their ends'), async () => {
    const scripted = new ScriptedAgent();
    const options = { handler: scripted.handler, runs: { maxRunning: 1, maxWaiting: 1 } };
    const host = await startObserved(adapter, { ...options, limits: { memoryBytes: 1_000 } });
    const slots = { slots: 1 };
    expect(withoutTimes(await scrape(host.url))).toEqual(slots);

    const body = { parts: [{ type: 'text', text: 'Hello' }, fileOf(10), fileOf(5_000)] };
    const first = await request(host.url, { headers: FULL }, JSON.stringify(body));
    const call = await scripted.call(1);
    call.emit(message('Hi'), message('there'));
    await first.until('there');
    const second = await ask(host.url);
    await second.until('Waiting for a slot');
    expect((await ask(host.url)).status).toBe(503);
    const emitted = JSON.stringify(message('Hi')).length + JSON.stringify(message('there')).length;
    const notice = await second.until('\n\n');
    const logged = emitted + notice.slice('data: '.length, notice.indexOf('\n\n')).length;
    expect(withoutTimes(await scrape(host.url))).toEqual({
      ...slots,
      runs_admitted_total: 2,
      'refusals_total{code="at_capacity"}': 1,
      runs_running: 1,
      runs_waiting: 1,
      followers: 2,
      envelopes_emitted_total: 2,
      characters_emitted_total: emitted,
      log_characters: logged,
      files_received_total: 2,
      files_received_bytes_total: 5_010,
      spool_files: 1,
      spool_bytes: 5_000,
      run_wait_seconds_count: 1,
    });

    expect((await cancel(host.url, second.runId)).status).toBe(200);
    await second.whole();
    call.finish();
    await first.whole();
    await host.idle();
    await eventually(() => host.agent.spoolUse().files === 0);
    const done = (status: string) => JSON.stringify({ type: 'done', data: { status } }).length;
    expect(withoutTimes(await scrape(host.url))).toEqual({
      ...slots,
      runs_admitted_total: 2,
      'refusals_total{code="at_capacity"}': 1,
      'runs_ended_total{status="completed"}': 1,
      'runs_ended_total{status="cancelled"}': 1,
      envelopes_emitted_total: 2,
      characters_emitted_total: emitted,
      log_characters: logged + done('completed') + done('cancelled'),
      files_received_total: 2,
      files_received_bytes_total: 5_010,
      run_wait_seconds_count: 1,
      'run_duration_seconds_count{status="completed"}': 1,
      first_event_seconds_count: 1,
    });
    await host.close();
  });

  it(promise('module.metrics', 'refusals, failures and repeated queries'), async () => {
    const scripted = new ScriptedAgent();
    const admit: QueryModuleOptions['admit'] = ({ parts: [part] }) => {
      if (part?.type === 'text' && part.text === 'quota')
        throw new QueryError('quota_exceeded', 'The quota is used up.', { status: 402 });
    };
    const host = await startObserved(adapter, {
      handler: scripted.handler,
      admit,
      limits: { textBytes: 10 },
    });
    await (await request(host.url, {}, '{')).whole();
    await (await request(host.url, {}, '[]')).whole();
    await (await request(host.url, {}, '[]')).whole();
    await (await ask(host.url, 'x'.repeat(11))).whole();
    await (await get(host.url, '/query/none')).whole();
    await (await ask(host.url, 'quota')).whole();
    const quota = { parts: [{ type: 'text' as const, text: 'quota' }], kwargs: {} };
    await new Promise((failed) => host.agent.query(quota).subscribe({ error: failed }));

    const errors = [new Error('secret'), new QueryError('quota_exceeded', 'Used up.', { status: 402 })];
    for (const [index, error] of errors.entries()) {
      const run = await ask(host.url, String(index), { headers: { 'idempotency-key': `k${index}` } });
      (await scripted.call(index + 1)).fail(error);
      await run.whole();
    }
    await (await ask(host.url, '0', { headers: { 'idempotency-key': 'k0' } })).whole();
    expect(withoutTimes(await scrape(host.url))).toMatchObject({
      runs_admitted_total: 2,
      queries_repeated_total: 1,
      'refusals_total{code="invalid_json"}': 1,
      'refusals_total{code="invalid_query"}': 2,
      'refusals_total{code="limit_exceeded"}': 1,
      'refusals_total{code="not_found"}': 1,
      'refusals_total{code="other"}': 2,
      'runs_ended_total{status="failed"}': 2,
      'run_failures_total{code="handler_failed"}': 1,
      'run_failures_total{code="other"}': 1,
      'run_duration_seconds_count{status="failed"}': 2,
    });
    const { 'refusals_total{code="quota_exceeded"}': named } = await scrape(host.url);
    expect(named).toBeUndefined();
    await host.close();
  });

  it(promise('module.metrics', 'handlers that do not stop'), async () => {
    const scripted = new ScriptedAgent(true);
    const host = await startObserved(adapter, { handler: scripted.handler, runs: { stopDeadlineMs: 1 } });
    const run = await ask(host.url);
    await scripted.call(1);
    expect((await cancel(host.url, run.runId)).status).toBe(202);
    await run.whole();
    expect(await scrape(host.url)).toMatchObject({
      handlers_overdue: 1,
      'runs_ended_total{status="cancelled"}': 1,
    });
    scripted.calls[0]!.finish();
    await host.idle();
    expect((await scrape(host.url))['handlers_overdue']).toBeUndefined();
    await host.close();
  });

  it(promise('module.metrics', 'the process, and zeros from the beginning'), async () => {
    const host = await startObserved(adapter, { handler: new ScriptedAgent().handler });
    const reply = await get(host.url, '/metrics');
    expect(reply.headers['cache-control']).toBe('no-store');
    // Versions of Express write the parameters in different orders.
    const [type, ...parameters] = reply.headers['content-type']!.split('; ');
    expect([type, ...parameters.sort()]).toEqual(['text/plain', 'charset=utf-8', 'version=0.0.4']);
    const series = seriesOf(await reply.whole());
    expect(series).toMatchObject({
      agent_query_runs_admitted_total: 0,
      'agent_query_runs_ended_total{status="failed"}': 0,
      'agent_query_refusals_total{code="at_capacity"}': 0,
      'agent_query_refusals_total{code="other"}': 0,
    });
    expect(series['process_resident_memory_bytes']).toBeGreaterThan(1_000_000);
    expect(series['nodejs_eventloop_lag_p99_seconds']).toBeGreaterThanOrEqual(0);
    const head = await request(host.url, { method: 'HEAD', path: '/metrics' });
    expect([head.status, await head.whole()]).toEqual([200, '']);
    await host.close();
  });

  it(promise('module.metrics-names'), async () => {
    const agents = { research: new ScriptedAgent(), support: new ScriptedAgent() };
    const modules = (['research', 'support'] as const).map((name) =>
      QueryModule.forRoot({
        name,
        path: name,
        handler: agents[name].handler,
        runs: QUICK,
        listeners: [QueryMetrics],
      }),
    );
    @Module({ imports: [...modules, MetricsModule.forRoot()] })
    class TwoModules {}
    const host = await startHost(adapter, TwoModules);
    const kwargs = { session_id: 'session-of-ann', other: 'kwarg-of-ann' };
    const headers = { 'idempotency-key': 'key-of-ann' };
    const run = await ask(host.url, 'text-of-ann', { path: '/support', kwargs, headers });
    (await agents.support.call(1)).emit({ type: 'type-of-ann', data: null });
    agents.support.calls[0]!.finish();
    await run.whole();
    await (await ask(host.url, 'Hello', { path: '/research', headers: { 'idempotency-key': '' } })).whole();
    expect(await scrape(host.url)).toMatchObject({
      'runs_admitted_total{module="support"}': 1,
      'envelopes_emitted_total{module="support"}': 1,
      'runs_ended_total{module="support",status="completed"}': 1,
      'refusals_total{module="research",code="invalid_query"}': 1,
      'slots{module="research"}': 10_000,
    });
    const text = await (await get(host.url, '/metrics')).whole();
    expect(text).not.toContain('of-ann');
    expect(text).not.toContain(run.runId);
    await host.close();
  });

  it(promise('module.metrics-guard'), async () => {
    @Injectable()
    class Operators {
      has(token: string | undefined): boolean {
        return token === 'secret';
      }
    }
    @Module({ providers: [Operators], exports: [Operators] })
    class OperatorsModule {}
    @Injectable()
    class OperatorGuard implements CanActivate {
      constructor(private readonly operators: Operators) {}
      canActivate(context: Parameters<CanActivate['canActivate']>[0]): boolean {
        const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
        return this.operators.has(headers['x-token']);
      }
    }
    const metrics = { path: 'numbers', decorators: [UseGuards(OperatorGuard)], imports: [OperatorsModule] };
    const configure = (app: INestApplication) =>
      app.setGlobalPrefix('api').useGlobalInterceptors({
        intercept: async (_, next) => {
          const { map } = await import('rxjs');
          return next.handle().pipe(map((data: unknown) => ({ data })));
        },
      });
    const host = await startObserved(adapter, { handler: new ScriptedAgent().handler }, metrics, configure);
    expect((await get(host.url, '/api/numbers')).status).toBe(403);
    const shown = await get(host.url, '/api/numbers', { 'x-token': 'secret' });
    expect(shown.status).toBe(200);
    expect(await shown.whole()).toMatch(/^# HELP agent_query_/);
    expect((await get(host.url, '/metrics')).status).toBe(404);
    await host.close();
  });

  it(promise('module.metrics-port'), async () => {
    const scripted = new ScriptedAgent();
    const host = await startObserved(adapter, { handler: scripted.handler }, { port: 0 });
    const { url } = host.app.get(MetricsServer, { strict: false });
    const { origin, hostname, pathname } = new URL(url);
    expect([hostname, pathname]).toEqual(['127.0.0.1', '/metrics']);
    expect((await get(host.url, '/metrics')).status).toBe(404);
    expect(await scrape(origin)).toMatchObject({ slots: 10_000 });
    for (const [method, path, status] of [
      ['GET', '/metrics?x=1', 200],
      ['HEAD', '/metrics', 200],
      ['POST', '/metrics', 404],
      ['GET', '/metrics/', 404],
      ['GET', '/', 404],
      ['GET', '/query', 404],
    ] as const) {
      const reply = await request(origin, { method, path });
      expect([method, path, reply.status]).toEqual([method, path, status]);
    }
    await host.close();
    await expect(request(origin, { method: 'GET', path: '/metrics' })).rejects.toThrow('ECONNREFUSED');
  });

  it(promise('module.metrics-port', 'that is in use'), async () => {
    const options = { handler: new ScriptedAgent().handler };
    const first = await startObserved(adapter, options, { port: 0 });
    const { port } = new URL(first.app.get(MetricsServer, { strict: false }).url);
    await expect(startObserved(adapter, options, { port: Number(port) })).rejects.toMatchObject({
      code: 'EADDRINUSE',
      syscall: 'listen',
    });
    await first.close();
  });
});

describe('The options of the metrics', () => {
  it.each<[MetricsOptions, string]>([
    [{ host: '::1' }, 'MetricsModule: the option "host" has no effect without "port".'],
    [{ port: 1, decorators: [] }, 'MetricsModule: the option "decorators" has no effect with "port"'],
  ])(promise('module.metrics-port', 'options without effect: %j'), (options, text) => {
    expect(() => MetricsModule.forRoot(options)).toThrow(text);
  });
});

describe.each(STORE_KINDS)('The metrics of the store: %s', (kind) => {
  let directory: string;
  let postgres: TestDatabase | undefined;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-metrics-'));
    if (kind === 'postgres') postgres = await openDatabase();
  });
  afterAll(async () => {
    await postgres?.close();
    await rm(directory, { recursive: true });
  });

  const open = async (): Promise<RunStore> => {
    if (kind === 'memory') return new MemoryRunStore();
    return openStore(kind === 'file' ? `file:${join(directory, 'runs.db')}` : postgres!.url);
  };

  it(promise('module.metrics', 'the store'), async () => {
    const scripted = new ScriptedAgent();
    const store = await open();
    const host = await startObserved('fastify', { handler: scripted.handler, store });
    const run = await ask(host.url, 'Hello', { kwargs: { session_id: 's' } });
    (await scripted.call(1)).emit(message('Hi'));
    await run.until('Hi');
    const emitted = JSON.stringify(message('Hi')).length;
    expect(await scrape(host.url)).toMatchObject({ envelopes_emitted_total: 1, log_characters: emitted });
    scripted.calls[0]!.finish();
    await run.whole();
    const kept = emitted + JSON.stringify({ type: 'done', data: { status: 'completed' } }).length;
    await eventually(async () => (await scrape(host.url))['log_characters'] === kept);
    const series = await scrape(host.url);
    expect(series).toMatchObject({
      'store_duration_seconds_count{operation="admit"}': 1,
      'store_duration_seconds_count{operation="end"}': 1,
    });
    expect(series['store_duration_seconds_count{operation="append"}']).toBe(
      kind === 'memory' ? undefined : 1,
    );
    expect(series['store_duration_seconds_sum{operation="admit"}']).toBeGreaterThan(0);
    await request(host.url, { method: 'DELETE', path: '/query/sessions/s' });
    await eventually(async () => (await scrape(host.url))['log_characters'] === undefined);
    await host.close();
  });
});

describe('The metrics of a store that does not answer', () => {
  it(promise('module.metrics', 'are shown without those of its logs'), async () => {
    const store = new MemoryRunStore();
    store.logLength = () => Promise.reject(new QueryError('unavailable', 'No.')) as never;
    const host = await startObserved('fastify', { handler: new ScriptedAgent().handler, store });
    const text = await (await get(host.url, '/metrics')).whole();
    expect(text).toContain('\nagent_query_slots 10000\n');
    expect(text).not.toMatch(/^agent_query_log_characters/m);
    await host.close();
  });
});

describe('A module without metrics', () => {
  it(promise('module.totals'), async () => {
    const scripted = new ScriptedAgent();
    const module: DynamicModule = QueryModule.forRoot({ handler: scripted.handler, runs: QUICK });
    const host = await startHost('fastify', module);
    expect(host.agent.totals()).toEqual({ envelopes: 0, length: 0, files: 0, fileBytes: 0 });
    const run = await request(host.url, {}, JSON.stringify({ parts: [fileOf(100_000)] }));
    (await scripted.call(1)).emit(message('Hi'));
    await run.until('Hi');
    const length = JSON.stringify(message('Hi')).length;
    expect(host.agent.totals()).toEqual({ envelopes: 1, length, files: 1, fileBytes: 100_000 });
    expect(host.agent.spoolUse()).toEqual({ files: 1, bytes: 100_000 });
    expect(await host.agent.logLength()).toBe(length);
    scripted.calls[0]!.finish();
    await run.whole();
    await eventually(() => host.agent.spoolUse().files === 0);
    expect(host.agent.spoolUse()).toEqual({ files: 0, bytes: 0 });
    expect(host.agent.totals()).toEqual({ envelopes: 1, length, files: 1, fileBytes: 100_000 });
    await host.close();
  });
});
