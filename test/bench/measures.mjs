/** What is measured. Each measure runs one peer once and returns figures; the first of them is the one that is compared. */
import { setTimeout as wait } from 'node:timers/promises';
import { bodyFor, PEERS } from './peers/index.mjs';

const ALL = Object.keys(PEERS);
const SERIOUS = ALL.filter((peer) => peer !== 'a2a');
/** Who holds the agent back while the caller does not read: they are asked for the rest of the answer later. */
const HOLDING_BACK = ['limit', 'ours', 'oursFastify'];
const PACED = ['limit', 'raw', 'ours', 'oursFastify', 'nest', 'nestFastify', 'betterSse'];
const NEST = ['ours', 'oursFastify', 'nest', 'nestFastify'];
const MB = 1e6;

const bodyOf = (peer, plan) => JSON.stringify(bodyFor(peer, plan));

/**
 * Answers per second of the server's core at saturation: what else the machine does takes time from the server, but not
 * from this figure.
 */
async function saturate({ peer, server, load, scale }, plan, connections) {
  await load.run('saturate', { port: server.port, body: bodyOf(peer, plan), connections, ms: 300 });
  const before = await server.usage();
  const began = performance.now();
  const { rate, busy } = await load.run('count', { ms: 600 * scale });
  const { cpu } = await server.usage();
  await load.run('leave');
  const core = (1000 * (cpu - before.cpu)) / (performance.now() - began);
  return { rate: rate / core, 'server core': core, 'load core': busy };
}

async function events(context, plan, count, connections) {
  const isSlow = context.peer === 'a2a';
  const events = isSlow ? 50 : count;
  const { rate, ...busy } = await saturate(context, `${plan} ${events}`, isSlow ? 1 : connections);
  return { 'events/s': rate * events, ...busy };
}

const STREAMS = 5000;
const EVENTS_PER_STREAM = 20;

async function pace({ peer, server, load, scale }, group) {
  const body = bodyOf(peer, `paced ${group} ${EVENTS_PER_STREAM}`);
  const running = load.run('pace', { port: server.port, body, connections: STREAMS, ms: 2500 * scale });
  const { rate, p50, p99, busy } = await running;
  const before = await server.usage();
  await wait(1000);
  const { cpu } = await server.usage();
  await load.run('leave');
  const delivered = rate / (STREAMS * EVENTS_PER_STREAM);
  return { delivered, 'server core': cpu - before.cpu, 'p50 ms': p50, 'p99 ms': p99, 'load core': busy };
}

async function idle({ peer, server, load }) {
  const connections = 10_000;
  await load.run('hold', { port: server.port, body: bodyOf(peer, 'burst 1'), connections: 50 });
  await load.run('leave');
  const before = await server.usage(true);
  await load.run('hold', { port: server.port, body: bodyOf(peer, 'idle'), connections });
  await wait(500);
  const { rss } = await server.usage(true);
  await load.run('leave');
  return { 'kB a stream': ((rss - before.rss) * 1000) / connections };
}

async function stall({ peer, server, load }, connections, count) {
  await load.run('saturate', { port: server.port, body: bodyOf(peer, 'pull 1000'), connections: 8, ms: 300 });
  await load.run('leave');
  const { peak: before } = await server.usage(true);
  await load.run('stall', { port: server.port, body: bodyOf(peer, `pull ${count}`), connections, ms: 3000 });
  const { peak } = await server.usage();
  const growth = { 'growth MB': peak - before };
  if (!HOLDING_BACK.includes(peer) || connections > 100) {
    await load.run('leave');
    return growth;
  }
  const { least, cut } = await load.run('read', { ms: 30_000 });
  await load.run('leave');
  return { ...growth, 'streams cut': cut, 'fewest events of a stream': least };
}

async function send({ server, load }, size) {
  const warmUp = { port: server.port, plan: 'burst 1', size: Math.min(size, MB) };
  for (let i = 0; i < 3; i++) await load.run('send', warmUp);
  const { peak: before } = await server.usage(true);
  const { seconds } = await load.run('send', { ...warmUp, size });
  const { peak } = await server.usage();
  return { ms: seconds * 1000, 'growth MB': peak - before };
}

/**
 * `peers` are measured in turn, `rounds` times; a server that is `fresh` has been started for the measure. `isMore` tells
 * whether more of the first figure is better.
 */
export const MEASURES = {
  burst: {
    title: '(a) events a second, one core saturated: bursts of 1,000, all in one go',
    peers: ALL,
    isMore: true,
    run: (context) => events(context, 'burst', 1000, 8),
  },
  micro: {
    title: '(a) the same, an event a microtask',
    peers: SERIOUS,
    isMore: true,
    run: (context) => events(context, 'micro', 1000, 8),
  },
  turn: {
    title: '(a) the same, an event a turn of the event loop, 16 streams',
    peers: SERIOUS,
    isMore: true,
    run: (context) => events(context, 'turn', 1000, 16),
  },
  pace1: {
    title: '(b) 5,000 streams of 20 single events a second',
    peers: PACED,
    rounds: 1,
    isMore: true,
    isFresh: true,
    run: (context) => pace(context, 1),
  },
  pace4: {
    title: '(b) 5,000 streams of 20 events a second, in groups of four',
    peers: PACED,
    rounds: 1,
    isMore: true,
    isFresh: true,
    run: (context) => pace(context, 4),
  },
  first: {
    title: '(c) milliseconds to the first event, one query after another',
    peers: SERIOUS,
    isFresh: true,
    async run({ peer, server, load, scale }) {
      const body = bodyOf(peer, 'burst 1');
      const { p50, p99 } = await load.run('first', { port: server.port, body, queries: 150 * scale });
      return { 'p50 ms': p50, 'p99 ms': p99 };
    },
  },
  idle: {
    title: '(d) memory of an open idle stream, of 10,000',
    peers: SERIOUS,
    isFresh: true,
    rounds: 1,
    run: idle,
  },
  stalled: {
    title: '(e) memory with 100 clients that stop reading an answer of 60,000 events (4 MB)',
    peers: PACED,
    isFresh: true,
    rounds: 1,
    run: (context) => stall(context, 100, 60_000),
  },
  stalled1000: {
    title: '(e) the same with 1,000 clients, three seconds after they asked',
    peers: HOLDING_BACK,
    isFresh: true,
    rounds: 1,
    run: (context) => stall(context, 1000, 60_000),
  },
  ...Object.fromEntries(
    [
      ['200 bytes', 0],
      ['1 MB', MB],
      ['10 MB', 10 * MB],
      ['100 MB', 100 * MB],
    ].map(([name, size]) => [
      `body ${name}`,
      {
        title: `(f) a query with a file of ${name}, until it is answered`,
        peers: ['limit', ...NEST],
        isFresh: true,
        ...(size < 100 * MB && { rounds: 1 }),
        run: (context) => send(context, size),
      },
    ]),
  ),
  'body 1 GB': {
    title: '(f) the same of 1 GB, which the others cannot read at all',
    peers: ['ours', 'oursFastify'],
    isFresh: true,
    rounds: 1,
    run: (context) => send(context, 1000 * MB),
  },
  queries: {
    title: '(g) small queries a second, an event each',
    peers: SERIOUS,
    isMore: true,
    async run(context) {
      const { rate, ...busy } = await saturate(context, 'burst 1', 32);
      return { 'queries/s': rate, ...busy };
    },
  },
};
