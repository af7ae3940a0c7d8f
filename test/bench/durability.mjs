/**
 * What durability costs, in one run: the in-memory store, a file, and a Postgres server on this machine.
 *
 *     npm run build && node test/bench/durability.mjs [--rounds 5]
 *
 * The service's own path, without HTTP: queries are admitted, handlers called, envelopes logged and followed. Rounds are
 * interleaved and medians printed; the first round warms up. The disk decides: where it lies about having written, as
 * many virtual ones do, a commit costs a fraction of what it does elsewhere, so the cost of one is printed too.
 */
import 'reflect-metadata';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { AgentService, message, QueryModule } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';

register('../support/typescript-hooks.mjs', import.meta.url);
const { startPostgres } = await import('../support/postgres.ts');

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const ROUNDS = Number(values.rounds);
const RUNS = 200;
const EVENTS = 1_000;
const PACED = { runs: 200, events: 40, gapMs: 25 };
const FIRSTS = 200;
const TURNS = [10, 100, 1_000, 10_000];

const text = 'twenty characters ok';
async function* handler({ kwargs }) {
  for (let i = 0; i < (kwargs.events ?? 1); i++) {
    if (kwargs.gapMs) await new Promise((resolve) => setTimeout(resolve, kwargs.gapMs));
    yield message(text);
  }
}

const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-bench-'));
const server = await startPostgres();
const stores = {
  memory: 'memory:',
  file: `file:${join(directory, 'runs.db')}`,
  Postgres: server.url,
};
const apps = {};
for (const [name, url] of Object.entries(stores)) {
  const store = await openStore(url);
  const module = QueryModule.forRoot({ handler, store, retention: { sessionsLength: 1e9 } });
  const app = await NestFactory.createApplicationContext(module, { logger: ['error', 'warn'] });
  apps[name] = { app, agent: app.get(AgentService), store };
}

/** Asks and follows to the end; resolves with the time until the first envelope and the number of all. */
function ask(agent, kwargs) {
  const began = performance.now();
  let first;
  let count = 0;
  return new Promise((resolve, reject) => {
    agent.query({ parts: [{ type: 'text', text: 'Hello' }], kwargs }).subscribe({
      next: () => {
        first ??= performance.now() - began;
        count++;
      },
      error: reject,
      complete: () => resolve({ first, count, all: performance.now() - began }),
    });
  });
}

const percentile = (list, share) =>
  list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const median = (list) => percentile(list, 0.5);

async function burst(agent) {
  const began = performance.now();
  const runs = await Promise.all(Array.from({ length: RUNS }, () => ask(agent, { events: EVENTS })));
  return runs.reduce((sum, { count }) => sum + count, 0) / ((performance.now() - began) / 1000);
}

async function paced(agent) {
  const cpu = process.cpuUsage();
  const began = performance.now();
  await Promise.all(Array.from({ length: PACED.runs }, () => ask(agent, PACED)));
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 1000 / (performance.now() - began);
}

async function firsts(agent) {
  const times = [];
  for (let i = 0; i < FIRSTS; i++) times.push((await ask(agent, {})).first);
  return times;
}

async function small(agent) {
  const began = performance.now();
  for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 100 }, () => ask(agent, {})));
  return 1000 / ((performance.now() - began) / 1000);
}

/** A session of so many turns, made through the store. */
async function fill(store, id, count) {
  const session = { id, policy: 'enqueue', maxWaiting: 100 };
  const parts = [{ type: 'text', text: 'A question of some length, as people ask.' }];
  for (let i = 0; i < count; i++) {
    const admission = { runId: `${id}-${i}`, owner: 'anonymous', parts, kwargs: {}, session };
    await store.admit(admission);
    await store.finish('anonymous', `${id}-${i}`, { status: 'completed' }, 'An answer. '.repeat(20));
  }
}

async function commitMs() {
  const file = await open(join(directory, 'probe'), 'w');
  const times = [];
  for (let i = 0; i < 200; i++) {
    const began = performance.now();
    await file.write(Buffer.alloc(4096));
    await file.sync();
    times.push(performance.now() - began);
  }
  await file.close();
  return median(times);
}

console.log(
  `node ${process.version}, ${ROUNDS} rounds; writing 4 KiB and fsync takes ${(await commitMs()).toFixed(2)} ms here\n`,
);
const figures = Object.fromEntries(
  Object.keys(apps).map((name) => [name, { burst: [], cpu: [], firsts: [], small: [] }]),
);
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, { agent }] of Object.entries(apps)) {
    const figure = figures[name];
    const measured = [await burst(agent), await paced(agent), await firsts(agent), await small(agent)];
    if (round === 0) continue;
    figure.burst.push(measured[0]);
    figure.cpu.push(measured[1]);
    figure.firsts.push(...measured[2]);
    figure.small.push(measured[3]);
  }
}
const paceds = (PACED.runs * 1000) / PACED.gapMs;
console.log(
  `| store | events/s, ${RUNS} runs at once, unpaced | ${paceds} events/s paced: cores | first event, p50 / p99 | one-event queries/s |`,
);
console.log('|---|---|---|---|---|');
for (const [name, figure] of Object.entries(figures)) {
  const first = `${percentile(figure.firsts, 0.5).toFixed(2)} / ${percentile(figure.firsts, 0.99).toFixed(2)} ms`;
  console.log(
    `| ${name} | ${Math.round(median(figure.burst)).toLocaleString('en')} | ${median(figure.cpu).toFixed(2)} | ${first} | ${Math.round(median(figure.small)).toLocaleString('en')} |`,
  );
}

console.log(
  `\n| a page of 50 turns, the first / the newest, ms | ${TURNS.map((count) => `${count} turns`).join(' | ')} |`,
);
console.log(`|---|${TURNS.map(() => '---|').join('')}`);
for (const [name, { store }] of Object.entries(apps)) {
  const cells = [];
  for (const count of TURNS) {
    const id = `s${count}`;
    await fill(store, id, count);
    const times = { first: [], newest: [] };
    for (let i = 0; i < 100; i++) {
      for (const [which, after] of [
        ['first', 0],
        ['newest', undefined],
      ]) {
        const began = performance.now();
        await store.turns('anonymous', id, { after, limit: 50 });
        times[which].push(performance.now() - began);
      }
    }
    cells.push(`${median(times.first).toFixed(2)} / ${median(times.newest).toFixed(2)}`);
  }
  console.log(`| ${name} | ${cells.join(' | ')} |`);
}
for (const { app } of Object.values(apps)) await app.close();
await server.close();
await rm(directory, { recursive: true });
