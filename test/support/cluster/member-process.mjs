/**
 * One process of a cluster: the service, with an agent that the queries steer (`steered-agent.mjs`).
 * `node member-process.mjs <MemberOptions as JSON>` prints the URL of the service when it listens.
 */
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { steeredAgent } from './steered-agent.mjs';

const options = JSON.parse(process.argv[2]);
const {
  database,
  role,
  leaseMs,
  postgres,
  restarts,
  spans,
  queue,
  keepAliveMs,
  dist = '../../../dist',
} = options;
const { AgentService, QueryModule } = await import(`${dist}/index.js`);
const { stopOnSignals } = await import('../../../dist/internals.js');
const { openStore } = await import(`${dist}/stores/index.js`);
const { HealthController, openTracer } = await import(`${dist}/telemetry/index.js`);
const runs = { disconnect: 'continue', drainMs: 1_000, stopDeadlineMs: 1_000, ...options.runs };

class Service {}

const handler = Object.assign(steeredAgent(options), { restarts });
const store = await openStore(database, { leaseMs, postgres });
const dispatcher = queue && (await openQueue());
const streams = { retryMs: 10, ...(keepAliveMs && { keepAliveMs }) };
const traced = spans !== undefined && { tracer: await openTracer({ agentName: 'steered' }) };
const module = {
  module: Service,
  controllers: [HealthController],
  imports: [
    QueryModule.forRoot({
      handler,
      store,
      runs,
      streams,
      ...(dispatcher && { dispatcher }),
      ...(role && { role }),
      ...traced,
    }),
  ],
};
const app = await NestFactory.create(module, new FastifyAdapter(), { abortOnError: false });
stopOnSignals(app, () => app.get(AgentService, { strict: false }).load(), runs.drainMs, runs.stopDeadlineMs);
await app.listen(0, '127.0.0.1');
console.log(`listens on ${await app.getUrl()}`);

async function openQueue() {
  const { openDispatcher } = await import('nest-agent-query-bullmq');
  const server = new URL(database);
  server.search = '';
  return openDispatcher(server.href, { name: queue });
}
