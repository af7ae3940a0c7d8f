/**
 * What it costs a query that its usage is added up.
 *
 *     npm run build && node test/bench/usage.mjs [--runs 20000] [--rounds 5] [--at-once 50] [--postgres] [--sessions]
 *
 * Each run is admitted, appends ten messages and a `usage` envelope, and ends. Rounds in which the store is told the usage
 * alternate with rounds in which it is not, on two stores of their own that grow alike; both have the same envelopes. What is
 * added up once a minute is added up after each round, and is in the time of the round. The last line compares the medians.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { message, usage } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';
import { DATABASES } from './databases.mjs';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '5' },
    'at-once': { type: 'string', default: '50' },
    postgres: { type: 'boolean', default: false },
    sessions: { type: 'boolean', default: false },
  },
});
const [runs, rounds, atOnce] = [values.runs, values.rounds, values['at-once']].map(Number);

const TEXT = JSON.stringify(message('A part of the answer, as a model writes it.'));
const USAGE = JSON.stringify(usage({ inputTokens: 900, outputTokens: 100, model: 'm' }));
const USED = {
  model: 'm',
  inputTokens: 900,
  outputTokens: 100,
  reasoningTokens: 0,
  cachedInputTokens: 0,
  price: 0,
};
const NO_EVENTS = {
  restarts: () => 0,
  maxRunningPerOwner: () => Infinity,
  asked: () => undefined,
  lost: () => undefined,
  recovered: () => undefined,
  resolved: () => undefined,
  ready: () => undefined,
};

async function query(store, used) {
  const runId = randomUUID();
  const admission = {
    runId,
    owner: 'anonymous',
    parts: [{ type: 'text', text: 'Hello' }],
    kwargs: {},
    session: values.sessions ? { id: runId, policy: 'enqueue', maxWaiting: 9 } : undefined,
    mayStart: true,
    maxWaiting: 9,
    notices: () => [],
  };
  const { run } = await store.admit(admission);
  for (let i = 0; i < 10; i++) void store.append(run, TEXT);
  void store.append(run, USAGE, used);
  await store.end(run, { status: 'completed' }, { text: '', envelopes: [] });
}

/** Milliseconds for each of the runs. */
async function round(store, used) {
  let left = runs;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await query(store, used);
    }),
  );
  await store.sweep();
  return (performance.now() - began) / runs;
}

async function open() {
  const database = await DATABASES[values.postgres ? 'postgres' : 'file']();
  const store = await openStore(database.url);
  await store.open(NO_EVENTS);
  return { store, close: async () => (await store.close(), database.close()) };
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

const [without, added] = [await open(), await open()];
const times = { without: [], added: [] };
for (let i = 0; i <= rounds; i++) {
  const both = { without: () => round(without.store, undefined), added: () => round(added.store, USED) };
  const order = i % 2 ? ['without', 'added'] : ['added', 'without'];
  const measured = {};
  for (const name of order) measured[name] = await both[name]();
  // The first round compiles the code.
  if (i === 0) continue;
  for (const name of order) times[name].push(measured[name]);
  console.log(`${measured.without.toFixed(4)} ms without, ${measured.added.toFixed(4)} ms added up`);
}
const [before, after] = [median(times.without), median(times.added)];
console.log(
  `${before.toFixed(4)} -> ${after.toFixed(4)} ms a query: ${((after / before - 1) * 100).toFixed(1)} % more`,
);
await without.close();
await added.close();
