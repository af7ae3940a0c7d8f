/** How a cluster is measured: one process, or two that admit and two that execute, on one Postgres. */
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { DATABASES } from '../databases.mjs';
import { bodyFor } from '../peers/index.mjs';
import { startMember } from '../process.mjs';
import { Stream } from './stream.mjs';

/** Runs that are followed at the same time, less at a smaller scale. Each emits so many events a second. */
const RUNS = 1000;
const EVENTS = 20;
const WATCHED = 20;
/** Queries that are admitted at the same time before. */
const OPENING = 20;

const bodyOf = (plan) => JSON.stringify(bodyFor('ours', plan));
/** What the agent emits with the plans `burst` and `idle`. */
const TEXT = 'another word';

const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const last = (values, share) => values.sort((a, b) => a - b)[Math.floor(values.length * share)];

/** Who admits and follows (`fronts`), and who executes. */
async function startCluster(peer, url) {
  const queue = peer === 'clusterQueue' ? [url] : [];
  const start = (role) => startMember(role, url, ...queue);
  if (peer === 'clusterOne') {
    const one = await start('all');
    return { fronts: [one, one], workers: [one], start };
  }
  const fronts = [await start('api'), await start('api')];
  return { fronts, workers: [await start('worker'), await start('worker')], start };
}

export async function cluster({ peer, load, scale }) {
  const database = await DATABASES.postgres();
  let members;
  try {
    const alone = peer === 'clusterOne' ? {} : await localFirst(database.url, peer, scale);
    const { fronts, workers, start } = await startCluster(peer, database.url);
    members = () => [...new Set([...fronts, ...workers])];
    const figures = {
      ...(await first(fronts[0], scale)),
      ...(await alone.again?.()),
      ...(await idle(members(), database.url, scale)),
      ...(await cancel(fronts, scale)),
      ...(await follow(fronts, load, scale)),
    };
    if (peer === 'clusterOne') return figures;
    Object.assign(figures, await resume(fronts, start), await lose(fronts, workers));
    return figures;
  } finally {
    await Promise.all(members?.().map((member) => member.stop()) ?? []);
    await database.close();
  }
}

/** The first event of a process that executes what it admits: alone, and again when others share its database. */
async function localFirst(url, peer, scale) {
  const process = await startMember('all', url, ...(peer === 'clusterQueue' ? [url] : []));
  const before = await first(process, scale);
  const again = async () => {
    const among = await first(process, scale);
    await process.stop();
    return { 'local first, to one alone': among['first p50 ms'] / before['first p50 ms'] };
  };
  return { again };
}

async function first({ port }, scale) {
  const times = [];
  for (let count = -20; count < 150 * scale; count++) {
    const began = performance.now();
    const stream = await Stream.open(port, { body: bodyOf('burst 1') });
    const came = await stream.until(TEXT);
    await stream.ended;
    if (count >= 0) times.push(came - began);
  }
  return { 'first p50 ms': middle(times), 'first p99 ms': last(times, 0.99) };
}

/** From the request of one process to its answer, which comes when the handler has stopped in another. */
async function cancel([one, other], scale) {
  const times = [];
  for (let count = -5; count < 50 * scale; count++) {
    const stream = await Stream.open(one.port, { body: bodyOf('idle') });
    await stream.until(TEXT);
    const began = performance.now();
    const cancelled = await Stream.open(other.port, { method: 'DELETE', path: stream.path });
    await cancelled.until('cancelled');
    if (count >= 0) times.push(performance.now() - began);
    await stream.until('"done"');
  }
  return { 'cancel p50 ms': middle(times) };
}

/** The runs of the load are followed where they were admitted; some are also followed by a second process, event by event. */
async function follow(fronts, load, scale) {
  const body = bodyOf(`paced 1 ${EVENTS}`);
  const runs = RUNS * Math.min(scale, 1);
  const ports = [...new Set(fronts.map(({ port }) => port))];
  for (const port of ports)
    await load.run('hold', { port, body, connections: runs / ports.length, opening: OPENING });
  const streams = [];
  for (let count = 0; count < WATCHED; count++) {
    const stream = await Stream.open(fronts[0].port, { body });
    const second = await Stream.open(fronts[1].port, { method: 'GET', path: stream.path });
    streams.push(stream, second);
  }
  await wait(2000);
  await load.run('watch', { ms: 300 });
  const before = streams.map(({ lastId }) => lastId);
  const { rate, p50, p99, busy } = await load.run('watch', { ms: Math.max(2000 * scale, 2000) });
  if (!streams.every(({ lastId }, i) => lastId > before[i])) throw new Error('A stream stands still.');
  for (const stream of streams) stream.leave();
  await load.run('leave');
  const delivered = rate / (runs * EVENTS);
  return { 'follow delivered': delivered, 'follow p50 ms': p50, 'follow p99 ms': p99, 'load core': busy };
}

/** From the request of a follower whose process was killed to the first event that it has missed. */
async function resume(fronts, start) {
  const times = [];
  for (let count = 0; count < 5; count++) {
    const stream = await Stream.open(fronts[0].port, { body: bodyOf(`paced 1 ${EVENTS}`) });
    await stream.until(`.5\n`);
    await fronts[0].stop();
    await stream.ended;
    // The run continues meanwhile.
    await wait(200);
    const began = performance.now();
    const headers = { 'last-event-id': `${stream.path.split('/').at(-1)}.${stream.lastId}` };
    const resumed = await Stream.open(fronts[1].port, { method: 'GET', path: stream.path, headers });
    const came = await resumed.until(`.${stream.lastId + 1}\n`);
    times.push(came - began);
    await (
      await Stream.open(fronts[1].port, { method: 'DELETE', path: stream.path })
    ).ended;
    fronts[0] = await start('api');
  }
  return { 'resume p50 ms': middle(times) };
}

/** From the loss of the process that executes a run to the end of its stream. */
async function lose([{ port }], workers) {
  const running = () => Promise.all(workers.map(async (worker) => (await worker.usage()).running));
  // The runs of the load end some time after their followers have left.
  while ((await running()).some((count) => count > 0)) await wait(100);
  const stream = await Stream.open(port, { body: bodyOf('idle') });
  await stream.until(TEXT);
  const executing = (await running()).findIndex((count) => count > 0);
  const began = performance.now();
  await workers[executing].stop();
  workers.splice(executing, 1);
  const ended = await stream.until('"interrupted"');
  return { 'lost process s': (ended - began) / 1000 };
}

/** What a process takes that has nothing to do. */
async function idle(members, url, scale) {
  await wait(3000);
  const before = await Promise.all(members.map((member) => member.usage()));
  const began = performance.now();
  await wait(5000 * scale);
  const after = await Promise.all(members.map((member) => member.usage()));
  const elapsed = (performance.now() - began) / 1000;
  const cores = after.map(({ cpu }, i) => (cpu - before[i].cpu) / elapsed);
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query(
    `select count(*)::int as count from pg_stat_activity where backend_type = 'client backend'`,
  );
  await client.end();
  return { 'idle core': Math.max(...cores), connections: (rows[0].count - 1) / members.length };
}
