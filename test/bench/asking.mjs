/**
 * What runs that ask cost while nobody answers: one process on Postgres, with so many runs that ask.
 *
 *     npm run build && node test/bench/asking.mjs [--runs 10000] [--minutes 1]
 *
 * It prints figures before the questions, with them while their handlers still wait (60 s), and when the runs are parked: memory
 * after a collection, timers of the process, slots, and transactions per minute. Then it answers some of the runs.
 * The figures mislead where other programs use the machine, and with another length of the questions: here about 200 bytes.
 */
import 'reflect-metadata';
import { register } from 'node:module';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import v8 from 'node:v8';
import vm from 'node:vm';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import pg from 'pg';
import { AgentService, message, QueryModule } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '10000' }, minutes: { type: 'string', default: '1' } },
});
const RUNS = Number(values.runs);
const MINUTES = Number(values.minutes);
const AT_ONCE = 50;

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');

async function* handler(_, context) {
  const question = {
    key: 'refund',
    kind: 'approval',
    message: 'Refund 120 EUR?',
    arguments: { amount: 120 },
  };
  const [answer] = await context.ask([question], { checkpoint: {} });
  yield message(answer.outcome);
}

register('../support/typescript-hooks.mjs', import.meta.url);
const { startPostgres } = await import('../support/postgres.ts');
const server = await startPostgres(['fsync = off']);
const store = await openStore(server.url);
class Service {}
const runs = { maxAskingPerOwner: 1_000, maxRunning: 100 };
const module = { module: Service, imports: [QueryModule.forRoot({ handler, store, runs })] };
const app = await NestFactory.create(module, new FastifyAdapter(), { logger: ['error', 'warn'] });
await app.listen(0, '127.0.0.1');
const agent = app.get(AgentService, { strict: false });
const admin = new pg.Client({ connectionString: server.url });
await admin.connect();

async function transactions() {
  await admin.query('select pg_stat_force_next_flush()');
  const { rows } = await admin.query(
    'select xact_commit from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0].xact_commit);
}

/** Figures over some minutes. */
async function measure(what) {
  const before = await transactions();
  await delay(MINUTES * 60_000);
  const perMinute = (await transactions()) - before;
  collect();
  collect();
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const heap = process.memoryUsage().heapUsed / 2 ** 20;
  const { rows } = await admin
    .query(`select count(*) from nest_agent_query.runs where process <> ''`)
    .catch(async () => {
      const found = await admin.query(
        `select table_schema from information_schema.tables where table_name = 'requests'`,
      );
      return admin.query(`select count(*) from ${found.rows[0].table_schema}.runs where process <> ''`);
    });
  const { running, waiting, asking } = agent.load();
  console.log(
    `${what}: heap ${heap.toFixed(1)} MB, ${timers} timers, ${running} running, ${waiting} waiting, ${asking} handlers wait, ` +
      `${rows[0].count} rows with a lease, ${(perMinute / MINUTES).toFixed(0)} transactions a minute`,
  );
}

const query = { parts: [{ type: 'text', text: 'Refund' }], kwargs: {} };
const ids = [];
await measure('before');
const since = performance.now();
for (let n = 0; n < RUNS; n += AT_ONCE) {
  const some = Array.from({ length: Math.min(AT_ONCE, RUNS - n) }, async (_, i) => {
    const owner = `owner ${(n + i) % 100}`;
    const { run } = await agent.query(query, { owner, detached: true }).admitted;
    ids.push([owner, run.id]);
  });
  await Promise.all(some);
}
while ((await agent.countOpenInputs()) < RUNS) await delay(50);
console.log(`${RUNS} runs ask after ${((performance.now() - since) / 1000).toFixed(1)} s`);
await measure('asking');
while (agent.load().asking > 0) await delay(1_000);
// Postgres tells what a connection has done some time later.
await delay(10_000);
await measure('parked');
const answering = performance.now();
const some = ids.filter((_, index) => index % 100 === 0);
for (const [owner, id] of some)
  await agent.answer(owner, id, [{ id: 'refund', outcome: 'answered', value: { approved: true } }]);
for (const [owner, id] of some) while ((await agent.find(owner, id)).status !== 'completed') await delay(5);
console.log(
  `${some.length} of them are answered and completed after ${(performance.now() - answering).toFixed(0)} ms`,
);
await admin.end();
await app.close();
await server.close();
