/**
 * What a page of 50 turns costs in sessions of 10 to 10,000 turns, the first page and the newest, in each store, and what the
 * next query costs: its admission, the turns for its handler, and its end. None of it is to grow with the session.
 *
 *     npm run build && node test/bench/long-sessions.mjs
 */
import { openStore } from '../../dist/stores/index.js';
import { DATABASES } from './databases.mjs';

const TURNS = [10, 100, 1_000, 10_000];
const PAGES = { first: 0, newest: undefined };
const OWNER = 'anonymous';

let runs = 0;

/** A query of a session, as the service sends it to the store: it is admitted and ended. */
async function ask(store, id, before = () => undefined) {
  const runId = `run-${++runs}`;
  const { run } = await store.admit({
    runId,
    owner: OWNER,
    parts: [{ type: 'text', text: 'A question of some length, as people ask.' }],
    kwargs: {},
    session: { id, policy: 'enqueue', maxWaiting: 100 },
    detached: false,
    mayStart: true,
    maxWaiting: 1_000,
    notices: () => [],
  });
  await before();
  await store.end(run, { status: 'completed' }, 'An answer. '.repeat(20));
}

/** Milliseconds, the median of 100. */
async function medianMs(work) {
  const times = [];
  for (let i = 0; i < 100; i++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return Number(times.sort((a, b) => a - b)[times.length >> 1].toPrecision(2));
}

async function measure(store) {
  const row = {};
  for (const count of TURNS) {
    const id = `session-of-${count}`;
    for (let i = 0; i < count; i++) await ask(store, id);
    for (const [page, after] of Object.entries(PAGES)) {
      row[`${page} of ${count}`] = await medianMs(() => store.turns(OWNER, id, { after, limit: 50 }));
    }
    const newest = () => store.turns(OWNER, id, { after: undefined, limit: 50 });
    row[`query after ${count}`] = await medianMs(() => ask(store, id, newest));
  }
  return row;
}

const rows = {};
for (const [name, open] of Object.entries(DATABASES)) {
  const { url, close } = await open();
  const store = await openStore(url);
  rows[name] = await measure(store);
  await store.close();
  await close();
}
console.log('milliseconds for a page of 50 turns, and for the next query');
console.table(
  Object.fromEntries(
    Object.keys(rows.memory).map((name) => [
      name,
      Object.fromEntries(Object.entries(rows).map(([store, row]) => [store, row[name]])),
    ]),
  ),
);
