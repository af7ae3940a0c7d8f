/**
 * Kills processes that use tokens, again and again, and checks that the sums are exact.
 *
 *     npm run build && node test/chaos/usage.mjs [--runs 3000] [--kills 6] [--processes 2] [--file]
 *
 * The processes share a Postgres; with `--file`, one process has a file. Each admits runs, with and without a session, appends
 * messages and usage, and ends them; some it leaves to the others. All of them sweep at the same time. In the end, the sums by
 * day, model and session must be those of all `usage` envelopes in the logs. The exit code is 1 if they are not.
 */
import { spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Database from 'libsql';
import pg from 'pg';
import { message, usage } from '../../dist/index.js';
import { openStore } from '../../dist/stores/index.js';
import { DATABASES } from '../bench/databases.mjs';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '3000' },
    kills: { type: 'string', default: '6' },
    processes: { type: 'string', default: '2' },
    file: { type: 'boolean', default: false },
    child: { type: 'string' },
  },
});
const AT_ONCE = 100;
const SWEEP_MS = 500;
const LEASE_MS = 1_500;
const TEXT = JSON.stringify(message('A part of the answer.'));

const open = async (url) => {
  const store = await openStore(url, { leaseMs: LEASE_MS });
  const nothing = () => undefined;
  const told = {
    asked: nothing,
    lost: nothing,
    recovered: nothing,
    resolved: nothing,
    ready: nothing,
    endpoints: () => [],
  };
  await store.open({ restarts: () => 1, maxRunningPerOwner: () => Infinity, ...told });
  return store;
};

/** One attempt of a run. A process that was silent for too long has lost it: that is no fault. */
async function execute(store, run) {
  for (let count = randomInt(3); count >= 0; count--) {
    const [inputTokens, outputTokens, model] = [randomInt(1_000), randomInt(100), `m${randomInt(3)}`];
    const used = { inputTokens, outputTokens, model, reasoningTokens: 0, cachedInputTokens: 0, price: 0 };
    void store.append(run, TEXT)?.catch(() => undefined);
    await store.append(run, JSON.stringify(usage({ inputTokens, outputTokens, model })), used);
  }
  await store.end(run, { status: 'completed' }, { text: '', envelopes: [] });
}

/** A process that is killed. */
async function work(url) {
  const store = await open(url);
  setInterval(() => store.sweep().catch(() => undefined), SWEEP_MS);
  for (;;) {
    const lost = await store.take(AT_ONCE).catch(() => []);
    const admitted = Array.from({ length: AT_ONCE }, async () => {
      const id = `s${randomInt(200)}`;
      const session = randomInt(2) ? { id, policy: 'enqueue', maxWaiting: 1_000 } : undefined;
      const limits = { mayStart: true, maxWaiting: 1e6, notices: () => [] };
      const query = { runId: randomUUID(), owner: 'ann', parts: [], kwargs: {}, session, ...limits };
      // A query that is refused uses nothing.
      return (await store.admit(query).catch(() => ({ run: {} }))).run;
    });
    const runs = [...lost, ...(await Promise.all(admitted)).filter(({ status }) => status === 'running')];
    await Promise.all(runs.map((run) => execute(store, run).catch(() => undefined)));
    process.send?.(runs.length);
  }
}

/** What the logs tell: runs with usage, input and output tokens, in all and by model. */
async function fromLogs(url) {
  const text = 'select run_id, envelopes from log';
  const client = values.file ? undefined : new pg.Client({ connectionString: url });
  await client?.connect();
  const path = 'set search_path = agent_query';
  if (client) await client.query(path);
  const rows = client
    ? (await client.query(text)).rows
    : new Database(url.slice('file:'.length)).prepare(text).all();
  await client?.end();
  const runs = new Set();
  const sums = {};
  for (const { run_id: id, envelopes } of rows)
    for (const line of envelopes.split('\n').filter((each) => each.startsWith('{"type":"usage"'))) {
      const { inputTokens, outputTokens, model } = JSON.parse(line).data;
      runs.add(id);
      for (const key of ['all', model]) {
        sums[key] ??= [0, 0];
        sums[key][0] += inputTokens;
        sums[key][1] += outputTokens;
      }
    }
  return { runs: runs.size, sums };
}

async function main() {
  const database = await DATABASES[values.file ? 'file' : 'postgres']();
  let [done, kills] = [0, 0];
  const [runs, wanted] = [Number(values.runs), Number(values.kills)];
  const child = async () => {
    while (done < runs || kills < wanted) {
      const arguments_ = [import.meta.filename, '--child', database.url];
      const worker = spawn(process.execPath, arguments_, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      const exited = once(worker, 'exit');
      // The process lives for its share of the runs, more or less; and then dies in the middle of others.
      const share = done + randomInt(1, Math.ceil((2 * runs) / wanted));
      await new Promise((resolve) => {
        worker.on('message', (count) => (done += count) >= Math.min(share, runs) && resolve());
        void exited.then(resolve);
      });
      await delay(randomInt(50));
      worker.kill('SIGKILL');
      await exited;
      kills++;
    }
  };
  await Promise.all(Array.from({ length: values.file ? 1 : Number(values.processes) }, child));
  // What waits is left as it is: it has used what its log says.
  const store = await open(database.url);
  await store.sweep();
  const today = Math.floor(Date.now() / 86_400_000);
  const sumsBy = async (by) => {
    const { sums } = await store.usage.sums('ann', { by, from: today - 1, to: today, limit: 1_000 });
    return sums;
  };
  const total = (sums, name) => sums.reduce((sum, each) => sum + each[name], 0);
  const [days, models, sessions] = [await sumsBy('day'), await sumsBy('model'), await sumsBy('session')];
  await store.close();
  const logged = await fromLogs(database.url);
  await database.close();
  const expected = JSON.stringify([logged.runs, ...logged.sums.all]);
  const found = [days, models, sessions].map((each) =>
    JSON.stringify(['runs', 'inputTokens', 'outputTokens'].map((name) => total(each, name))),
  );
  const isOfModels = models.every(({ of, inputTokens, outputTokens }) => {
    return JSON.stringify(logged.sums[of]) === JSON.stringify([inputTokens, outputTokens]);
  });
  console.log(
    `${done} runs, ${kills} kills, logs ${expected}, sums by day, model, session ${found.join(' ')}`,
  );
  const isExact = isOfModels && found.every((each) => each === expected);
  console.log(isExact ? 'all sums are exact' : 'sums differ from the logs');
  if (!isExact) process.exitCode = 1;
}

await (values.child ? work(values.child) : main());
