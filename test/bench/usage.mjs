/**
 * What it costs a query that its usage is added up.
 *
 *     npm run build && node test/bench/usage.mjs [--store memory|file|postgres] [--messages 100] [--queries 4000]
 *       [--rounds 30] [--at-once 16] [--owners 100]
 *
 * Each query is answered with as many messages as a short answer of a model has, and a `usage` envelope. What that costs does
 * not grow with the messages: with ten, it is a larger part. For the queries it is compared with, the store is not told what
 * the envelope says. Rounds of both kinds take turns on the same service. What a service adds up once a minute is added up
 * after each round too, in the time of the round. The load is a process of its own. Prints milliseconds a query, by the clock
 * and of the processor of this process, and what the usage adds: the median and the quartiles of all pairs of rounds, and their
 * mean with its standard error. One pair may differ by ten per cent from the next, so a difference of one per cent needs some
 * hundred pairs.
 */
import { parseArgs } from 'node:util';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { MemoryRunStore, message, QueryModule, usage } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';
import { DATABASES } from './databases.mjs';
import { listen } from './peers/host.mjs';
import { startLoad } from './process.mjs';

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'file' },
    messages: { type: 'string', default: '100' },
    queries: { type: 'string', default: '4000' },
    rounds: { type: 'string', default: '30' },
    'at-once': { type: 'string', default: '16' },
    owners: { type: 'string', default: '100' },
  },
});
const USAGE = usage({ inputTokens: 900, outputTokens: 100, model: 'm' });
const messages = Number(values.messages);
let queries = 0;

async function* handler() {
  for (let i = 0; i < messages; i++) yield message('A part of the answer, as a model writes it.');
  yield USAGE;
}

const database = await DATABASES[values.store]();
const store = values.store === 'memory' ? new MemoryRunStore() : await openStore(database.url);
const append = store.append.bind(store);
let isAdded = true;
store.append = (run, text, used) => append(run, text, isAdded ? used : undefined);
const owner = () => `owner ${queries++ % Number(values.owners)}`;
const port = await listen(
  { imports: [QueryModule.forRoot({ handler, store, owner })] },
  new FastifyAdapter(),
);
const load = startLoad();

/** Milliseconds a query: by the clock, and of the processor. */
async function measure(kind) {
  isAdded = kind === 'added';
  const count = Number(values.queries);
  const body = JSON.stringify({ parts: [{ type: 'text', text: 'Hello!' }] });
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await load.run('ask', { port, body, connections: Number(values['at-once']), queries: count });
  await store.sweep?.();
  const elapsed = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return { clock: elapsed / count, processor: (user + system) / 1_000 / count };
}

const quantile = (all, share) => all.toSorted((a, b) => a - b)[Math.floor(all.length * share)];
const shown = (ratio) => `${((ratio - 1) * 100).toFixed(1)} %`;

/** The mean of values, and its standard error. */
function meanOf(all) {
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  const variance = all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (all.length - 1);
  return [mean, Math.sqrt(variance / all.length)];
}

const pairs = [];
// The first rounds compile the code.
for (let i = -4; i < Number(values.rounds); i++) {
  const pair = {};
  for (const kind of i % 2 ? ['added', 'not'] : ['not', 'added']) pair[kind] = await measure(kind);
  if (i >= 0) pairs.push(pair);
}
for (const figure of ['clock', 'processor']) {
  const ratios = pairs.map(({ added, not }) => added[figure] / not[figure]);
  const [before, after] = ['not', 'added'].map((kind) =>
    quantile(
      pairs.map((pair) => pair[kind][figure]),
      0.5,
    ).toFixed(4),
  );
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => shown(quantile(ratios, share)));
  const [mean, error] = meanOf(ratios.map((ratio) => Math.log(ratio)));
  console.log(
    `${figure}: ${before} -> ${after} ms a query, ${middle} more (quartiles ${low}, ${high}; ` +
      `mean ${shown(Math.exp(mean))} ± ${(error * 100).toFixed(1)})`,
  );
}
await load.stop();
await store.close?.();
await database.close();
process.exit();
