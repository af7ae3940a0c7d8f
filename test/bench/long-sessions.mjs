/**
 * What a page of 50 turns costs in sessions of 10 to 10,000 turns, the first page and the newest, in each store: it is not
 * to grow with the session.
 *
 *     npm run build && node test/bench/long-sessions.mjs
 */
import { openStore } from '../../dist/stores/index.js';
import { DATABASES } from './databases.mjs';

const TURNS = [10, 100, 1_000, 10_000];
const PAGES = { first: 0, newest: undefined };
const OWNER = 'anonymous';

/** Makes a session of so many turns. */
async function fill(store, id, count) {
  const session = { id, policy: 'enqueue', maxWaiting: 100 };
  const parts = [{ type: 'text', text: 'A question of some length, as people ask.' }];
  for (let i = 0; i < count; i++) {
    const runId = `${id}-${i}`;
    await store.admit({ runId, owner: OWNER, parts, kwargs: {}, session });
    await store.finish({ owner: OWNER, id: runId }, { status: 'completed' }, 'An answer. '.repeat(20));
  }
}

/** Milliseconds, the median of 100. */
async function pageMs(store, id, after) {
  const times = [];
  for (let i = 0; i < 100; i++) {
    const began = performance.now();
    await store.turns(OWNER, id, { after, limit: 50 });
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

async function measure(store) {
  const row = {};
  for (const count of TURNS) {
    const id = `session-of-${count}`;
    await fill(store, id, count);
    for (const [page, after] of Object.entries(PAGES)) {
      row[`${page} of ${count}`] = Number((await pageMs(store, id, after)).toPrecision(2));
    }
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
console.log('milliseconds for a page of 50 turns');
console.table(rows);
