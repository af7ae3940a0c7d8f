import { Controller, Get, Module } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { readFileSync } from 'node:fs';
import { AgentService, MemoryRunStore, QueryError, QueryModule } from '../../src/index.js';
import { HealthController, QueryHealthIndicator, VersionController } from '../../src/telemetry/index.js';
import { promise } from '../promises.js';
import { get } from '../support/client.js';
import { describeOnOneAdapter, startHost } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

@Controller('checks')
class ChecksController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicator: QueryHealthIndicator,
    private readonly agent: AgentService,
  ) {}

  @Get()
  @HealthCheck()
  check() {
    return this.health.check([() => this.indicator.isHealthy('agent', this.agent)]);
  }
}

describeOnOneAdapter('What a host on %s tells its operator', (adapter) => {
  const store = new MemoryRunStore();
  let outage: Error | undefined;
  store.check = () => {
    if (outage) throw outage;
  };

  @Module({
    imports: [
      TerminusModule.forRoot({ logger: false }),
      QueryModule.forRoot({ handler: new ScriptedAgent().handler, store }),
    ],
    controllers: [ChecksController, HealthController, VersionController],
    providers: [QueryHealthIndicator],
  })
  class OperatedModule {}

  it(promise('module.health-indicator'), async () => {
    const host = await startHost(adapter, OperatedModule);
    outage = undefined;
    const healthy = await get(host.url, '/checks');
    expect([healthy.status, await healthy.json()]).toEqual([
      200,
      { status: 'ok', info: { agent: { status: 'up' } }, error: {}, details: { agent: { status: 'up' } } },
    ]);
    expect((await get(host.url, '/health/ready')).status).toBe(200);

    for (const [error, code, detail] of [
      [new QueryError('unavailable', 'No database.'), 'unavailable', 'No database.'],
      [new Error('secret'), 'internal', 'The service failed, and has logged the cause.'],
    ] as const) {
      outage = error;
      const agent = { status: 'down', code, detail };
      const down = await get(host.url, '/checks');
      expect([down.status, await down.json()]).toEqual([
        503,
        { status: 'error', info: {}, error: { agent }, details: { agent } },
      ]);
      const ready = await get(host.url, '/health/ready');
      expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', code, detail }]);
    }
    outage = undefined;
    await host.close();
  });

  it(promise('module.version'), async () => {
    const host = await startHost(adapter, OperatedModule);
    const { name, version } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, string>;
    const reply = await get(host.url, '/version');
    expect([reply.status, await reply.json()]).toEqual([200, { name, version }]);
    await host.close();
  });
});
