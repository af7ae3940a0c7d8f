/** What is measured. Each measure runs one peer once and returns figures; the first of them is the one that is compared. */
import { cluster } from './cluster/measuring.mjs';
import {
  events,
  first,
  growth,
  idle,
  latency,
  pace,
  queries,
  send,
  stall,
  startUp,
  store,
} from './measuring.mjs';
import { PEERS } from './peers/index.mjs';

/** Who only takes bytes. */
const BARE = ['throwAway', 'hash'];
const DURABLE = ['oursFile', 'oursPostgres'];
const LITTLE = ['oursLittle', 'oursFastifyLittle'];
const VIEWS = ['oursProtocols', 'oursConversation', 'oursAiSdk', 'oursAgUi', 'oursResponses', 'oursChat'];
const CLUSTERS = ['clusterOne', 'clusterSignals', 'clusterQueue'];
const SERVICE = 'service';
const ALL = Object.keys(PEERS).filter(
  (peer) => ![SERVICE, ...BARE, ...DURABLE, ...LITTLE, ...VIEWS, 'agUi', ...CLUSTERS].includes(peer),
);
const SERIOUS = ALL.filter((peer) => peer !== 'a2a');
const PACED = ['limit', 'raw', 'ours', 'oursFastify', 'nest', 'nestFastify', 'betterSse'];
const OURS = ['ours', 'oursFastify'];
const READERS = ['limit', ...OURS, 'nest', 'nestFastify'];

const MB = 1e6;

/**
 * `peers` are measured in turn, `rounds` times; a server that is `fresh` has been started for the measure. A
 * measure that `startsItself` starts its processes. A server that is `isOnAnyCore` is not pinned to one, because it has
 * threads. `isMore` tells whether more of the first figure is better.
 */
export const MEASURES = {
  burst: {
    title: '(a) events a second, one core saturated: bursts of 1,000, all in one go',
    peers: ALL,
    isMore: true,
    run: (context) => events(context, 'burst', 1000, 8),
  },
  'burst full': {
    title: '(a) the same in the full profile, an `id:` an event; raw servers have none',
    peers: ['limit', 'raw', ...OURS],
    isMore: true,
    run: (context) => events(context, 'burst', 1000, 8, true),
  },
  micro: {
    title: '(a) the same, an event a microtask',
    peers: PACED,
    rounds: 1,
    isMore: true,
    run: (context) => events(context, 'micro', 1000, 8),
  },
  tick: {
    title: '(a) the same, one event per tick, 16 streams',
    peers: SERIOUS,
    isMore: true,
    run: (context) => events(context, 'tick', 1000, 16),
  },
  pace1: {
    title: '(b) 5,000 streams of 20 single events a second',
    peers: PACED,
    rounds: 1,
    isMore: true,
    isFresh: true,
    run: (context) => pace(context, 1, 5000),
  },
  pace4: {
    title: '(b) 5,000 streams of 20 events a second, in groups of four',
    peers: PACED,
    rounds: 1,
    isMore: true,
    isFresh: true,
    run: (context) => pace(context, 4, 5000),
  },
  first: {
    title: '(c) milliseconds to the first event, one query after another',
    peers: [...SERIOUS, SERVICE],
    run: first,
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
    peers: [...PACED, ...LITTLE],
    isFresh: true,
    rounds: 1,
    run: (context) => stall(context, 100, 60_000),
  },
  stalled1000: {
    title: '(e) the same with 1,000 clients, three seconds after they asked',
    peers: ['limit', ...OURS],
    isFresh: true,
    rounds: 1,
    run: (context) => stall(context, 1000, 60_000),
  },
  'body 200 bytes': {
    title: '(f) a query with a file of 200 bytes, until it is answered, 500 one after another',
    peers: READERS,
    isFresh: true,
    rounds: 1,
    // As many before them: the first hundreds of queries measure the compiler of V8.
    run: (context) => send(context, 200, { times: 500, warmUps: 500 }),
  },
  'body 1 MB': {
    title: '(f) the same with a file of 1 MB, 20 one after another',
    peers: READERS,
    isFresh: true,
    rounds: 1,
    run: (context) => send(context, MB, { times: 20 }),
  },
  'body 10 MB': {
    title: '(f) the same with one file of 10 MB',
    peers: READERS,
    isFresh: true,
    rounds: 1,
    run: (context) => send(context, 10 * MB),
  },
  'body 100 MB': {
    title: '(f) the same with one file of 100 MB',
    peers: [...BARE, ...READERS],
    isFresh: true,
    rounds: 1,
    run: (context) => send(context, 100 * MB),
  },
  'body 8 x 100 MB': {
    title: '(f) the same with 8 files of 100 MB at once',
    peers: [...BARE, ...OURS],
    isFresh: true,
    rounds: 1,
    run: (context) => send(context, 100 * MB, { clients: 8 }),
  },
  'body 1 GB': {
    title: '(f) the same with one file of 1 GB, which the others cannot read at all',
    peers: [...BARE, ...OURS],
    isFresh: true,
    rounds: 1,
    run: (context) => send(context, 1000 * MB),
  },
  queries: {
    title: '(g) small queries a second, an event each',
    peers: [...SERIOUS, SERVICE],
    isMore: true,
    run: queries,
  },
  start: {
    title:
      '(o) milliseconds from the start of a process to its first answer, those of the processor, and the memory then',
    peers: ['limit', 'ours', 'nest', 'oursFastify', 'nestFastify', SERVICE],
    rounds: 5,
    startsItself: true,
    run: startUp,
  },
  store: {
    title:
      '(h) the store in memory, in a file and in Postgres: bursts of 1,000 and small queries, 32 at once',
    peers: ['oursFastify', ...DURABLE],
    isMore: true,
    isFresh: true,
    isOnAnyCore: true,
    rounds: 1,
    run: store,
  },
  latency: {
    title:
      '(l) milliseconds to the first event, one query after another; then 500, 1,000 and 5,000 streams of 20 single events a second, and microseconds of the processor for each of these',
    peers: ['limit', 'raw', 'oursFastify', ...DURABLE],
    startsItself: true,
    run: latency,
  },
  cluster: {
    title:
      '(i) one process, and two that admit with two that execute, on one Postgres: queries one after another, nothing, cancels, 1,000 runs of 20 single events a second, lost processes',
    peers: CLUSTERS,
    startsItself: true,
    run: cluster,
  },
  protocols: {
    title:
      '(k) events a second in other protocols, one core saturated: bursts of 1,000, beside the common way to serve each',
    peers: [...VIEWS, 'ai', 'agUi'],
    isMore: true,
    run: (context) => events(context, 'burst', 1000, 8),
  },
  growth: {
    title:
      "(j) microseconds of the server's processor for an event, with 1 to 10,000 open runs that share 4,000 events a second",
    chart: 'growth.svg',
    peers: ['raw', ...OURS, ...DURABLE, 'nest', 'nestFastify', 'betterSse'],
    startsItself: true,
    rounds: 1,
    run: growth,
  },
};
