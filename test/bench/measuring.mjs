/**
 * How it is measured: each function runs one peer once and returns figures. A context holds the `peer`, its `server`, the
 * `load` process, the `scale` of times and the `round`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { bodyFor, PEERS } from './peers/index.mjs';
import { startLoad, startServer } from './process.mjs';

const MB = 1e6;
const EVENTS_PER_STREAM = 20;

/** How many runs are open at once while it is measured how their cost grows, and the events a second that they share. */
export const GROWTH_RUNS = [1, 10, 100, 1000, 10_000];
export const GROWTH_EVENTS = 4000;
/** How long the runs of one point may take to open on a slow machine, and to be measured. */
const GROWTH_LIMIT_MS = 240_000;

/** Who holds the agent back while the caller does not read: they are asked for the rest of the answer later. */
const HOLDING_BACK = ['limit', 'ours', 'oursFastify', 'oursLittle', 'oursFastifyLittle'];

const bodyOf = (peer, plan) => JSON.stringify(bodyFor(peer, plan));

/** What a look of the load process sees, and how much of a core the server takes meanwhile. */
async function look({ server, load }, job, ms) {
  const before = await server.usage();
  const began = performance.now();
  const seen = await load.run(job, { ms });
  const { cpu } = await server.usage();
  return { ...seen, core: (1000 * (cpu - before.cpu)) / (performance.now() - began) };
}

/** Waits until a server becomes no faster, which takes longer on a slow machine. */
async function untilSteady(load) {
  let rate = 0;
  for (let looks = 0; looks < 20; looks++) {
    const before = rate;
    ({ rate } = await load.run('count', { ms: 500 }));
    if (rate < 1.05 * before) return;
  }
}

/** Answers a second at saturation, and what that takes of a core of the server and of the load. */
async function saturate(context, plan, connections, isFull) {
  const { peer, server, load, scale, round } = context;
  // Until the code is compiled and the heap as large as it becomes; V8 gives up much of both in the idle time between rounds.
  const warmUpMs = round === 0 ? 2500 : 1500;
  const body = bodyOf(peer, plan);
  const { path } = PEERS[peer];
  await load.run('saturate', { port: server.port, path, body, isFull, connections, ms: warmUpMs });
  if (round === 0) await untilSteady(load);
  const seen = await look(context, 'count', 500 * scale);
  await load.run('rest');
  return seen;
}

/** Answers per second of the server's core: what else the machine does takes time from the server, but not from this. */
async function answersOfACore(context, plan, connections, isFull) {
  const { rate, core, busy } = await saturate(context, plan, connections, isFull);
  return { rate: rate / core, 'server core': core, 'load core': busy };
}

export async function events(context, plan, count, connections, isFull) {
  const isSlow = context.peer === 'a2a';
  const events = isSlow ? 50 : count;
  const streams = isSlow ? 1 : connections;
  const { rate, ...busy } = await answersOfACore(context, `${plan} ${events}`, streams, isFull);
  return { 'events/s': rate * events, ...busy };
}

export async function queries(context) {
  const { rate, ...busy } = await answersOfACore(context, 'burst 1', 32);
  return { 'queries/s': rate, ...busy };
}

/** What a developer waits for at each restart. */
export async function startUp({ peer, load }) {
  const began = performance.now();
  const server = await startServer(peer, 0);
  await load.run('ask', { port: server.port, body: bodyOf(peer, 'burst 1'), connections: 1, queries: 1 });
  const ms = performance.now() - began;
  const { cpu, rss } = await server.usage();
  await server.stop();
  return { ms, 'processor ms': 1000 * cpu, MB: rss };
}

export async function pace(context, group, streams) {
  const { peer, server, load, scale } = context;
  const body = bodyOf(peer, `paced ${group} ${EVENTS_PER_STREAM}`);
  await load.run('hold', { port: server.port, body, connections: streams });
  // Until a store does everything that long streams make it do.
  await wait(6000);
  // The load process becomes as fast as it can be.
  await load.run('watch', { ms: 300 });
  const { rate, core, p50, p99, busy } = await look(context, 'watch', 2000 * scale);
  await load.run('leave');
  const delivered = rate / (streams * EVENTS_PER_STREAM);
  return { delivered, 'server core': core, 'p50 ms': p50, 'p99 ms': p99, 'load core': busy };
}

export async function first({ peer, server, load, scale }) {
  const body = bodyOf(peer, 'burst 1');
  await load.run('saturate', { port: server.port, body, connections: 8, ms: 500 });
  await load.run('rest');
  const { p50, p99 } = await load.run('first', { port: server.port, body, queries: 150 * scale });
  return { 'p50 ms': p50, 'p99 ms': p99 };
}

export async function idle({ peer, server, load }) {
  const connections = 10_000;
  await load.run('hold', { port: server.port, body: bodyOf(peer, 'burst 1'), connections: 50 });
  await load.run('leave');
  const before = await server.usage({ collect: true });
  await load.run('hold', { port: server.port, body: bodyOf(peer, 'idle'), connections });
  await wait(500);
  const { rss } = await server.usage({ collect: true });
  await load.run('leave');
  return { 'kB a stream': ((rss - before.rss) * 1000) / connections };
}

export async function stall({ peer, server, load }, connections, count) {
  await load.run('saturate', { port: server.port, body: bodyOf(peer, 'pull 1000'), connections: 8, ms: 300 });
  await load.run('rest');
  const before = await server.usage({ collect: true });
  await load.run('stall', { port: server.port, body: bodyOf(peer, `pull ${count}`), connections, ms: 3000 });
  const { peak } = await server.usage();
  const { rss } = await server.usage({ collect: true });
  const growth = { 'held MB': rss - before.rss, 'peak MB': peak - before.peak };
  if (!HOLDING_BACK.includes(peer) || connections > 100) {
    await load.run('leave');
    return growth;
  }
  const { least, cut } = await load.run('read', { ms: 30_000, events: count });
  await load.run('leave');
  return { ...growth, 'streams cut': cut, 'fewest events of a stream': least };
}

/** Files of so many bytes from so many clients at once, and the same again up to `times`. */
export async function send({ server, load }, size, { clients = 1, times = 1, warmUps = 3 } = {}) {
  const file = { port: server.port, plan: 'burst 1', size, clients, times };
  await load.run('send', { ...file, size: Math.min(size, MB), clients: 1, times: warmUps });
  const { peak: before } = await server.usage({ collect: true, watch: true });
  const { ms } = await load.run('send', file);
  const { peak, longestDelay } = await server.usage();
  return { ms, 'growth MB': peak - before, 'longest delay ms': longestDelay };
}

/** What a store is asked for, one after another. Rates are those of the clock: who waits for a disk uses no core. */
export async function store(context) {
  const small = await saturate(context, 'burst 1', 32);
  const burst = await saturate(context, 'burst 1000', 32);
  return {
    'burst events/s': burst.rate * 1000,
    'burst core': burst.core,
    'queries/s': small.rate,
    'query core': small.core,
  };
}

/**
 * What a caller waits for: the first event of a query, and each event of streams of 20 single events a second. Each has a server of
 * its own, because the runs of callers who have left go on for a while, and raw has none. It is not pinned to a core: stores have
 * threads.
 */
export async function latency({ peer, load, scale }) {
  const withServer = async (measured) => {
    const server = await startServer(peer);
    return measured({ peer, server, load, scale }).finally(server.stop);
  };
  const { 'p50 ms': p50, 'p99 ms': p99 } = await withServer(first);
  const figures = { 'first p50 ms': p50, 'first p99 ms': p99 };
  for (const streams of [500, 1000, 5000]) {
    const paced = await withServer((context) => pace(context, 1, streams));
    const events = paced.delivered * streams * EVENTS_PER_STREAM;
    figures[`${streams} delivered`] = paced.delivered;
    figures[`${streams} p50 ms`] = paced['p50 ms'];
    figures[`${streams} p99 ms`] = paced['p99 ms'];
    figures[`${streams} µs an event`] = (1e6 * paced['server core']) / events;
  }
  return figures;
}

/** The name of a figure of `growth`. */
export const withRuns = (runs) => `${runs.toLocaleString('en')} ${runs === 1 ? 'run' : 'runs'}`;

/**
 * Microseconds of the server's processor for an event, with more and more open runs that share the same events a second:
 * nothing but the number of runs changes. It has processes of its own, because a point may be more than they can do.
 * What fails is missing, and so is what would come after it.
 */
export async function growth({ peer, scale }) {
  const server = await startServer(peer, 0);
  const context = { peer, server, load: startLoad(), scale };
  const points = [];
  try {
    await saturate({ ...context, round: 1 }, 'tick 1000', 16);
    for (const [i, runs] of GROWTH_RUNS.entries()) {
      const moreRuns = runs - (GROWTH_RUNS[i - 1] ?? 0);
      // At first, until the code of this plan is compiled.
      const settleMs = i === 0 ? 2000 : 500;
      points.push(await within(GROWTH_LIMIT_MS, costOfEvent(context, moreRuns, settleMs)));
    }
  } catch (error) {
    console.error(`${peer}, ${withRuns(GROWTH_RUNS[points.length])}: ${error.message}`);
  } finally {
    // One that has ended before cannot be stopped.
    await Promise.allSettled([context.load.stop(), server.stop()]);
  }
  const isWhole = points.length === GROWTH_RUNS.length;
  return {
    '10,000 to 1': isWhole ? points.at(-1).cost / points[0].cost : undefined,
    ...Object.fromEntries(GROWTH_RUNS.map((runs, i) => [withRuns(runs), points[i]?.cost])),
    'least delivered': points.length ? Math.min(...points.map(({ delivered }) => delivered)) : undefined,
  };
}

async function costOfEvent(context, moreRuns, settleMs) {
  const { peer, server, load, scale } = context;
  const body = bodyOf(peer, `shared ${GROWTH_EVENTS}`);
  await load.run('hold', { port: server.port, body, connections: moreRuns });
  // What opening them has left behind is not a cost of the events.
  await server.usage({ collect: true });
  await load.run('watch', { ms: settleMs });
  const looks = [];
  for (let i = 0; i < 3; i++) {
    const { rate, core } = await look(context, 'watch', 500 * scale);
    looks.push({ cost: (1e6 * core) / rate, delivered: rate / GROWTH_EVENTS });
  }
  // The middle one: what others do on the machine for a moment does not count.
  return looks.sort((a, b) => a.cost - b.cost)[1];
}

async function within(ms, work) {
  const ended = new AbortController();
  const late = wait(ms, undefined, { signal: ended.signal }).then(() => {
    throw new Error(`not done after ${ms / 1000} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    work.catch(() => undefined);
    ended.abort();
  }
}
