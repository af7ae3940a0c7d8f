/** The load process: does one job after another and sends back what it has seen. */
import { Buffer } from 'node:buffer';
import { setTimeout as wait } from 'node:timers/promises';
import { stamp } from '../work.mjs';
import { Connection, EventCounter, requestOf } from './connection.mjs';

const DATA = Buffer.from('data:');
const STAMP = Buffer.from('at 0');
/** How many connections are opened at once: as many as the queue of a listening socket takes easily. */
const OPENING = 200;
/** One of so many paced streams is looked at closely. */
const PROBE = 25;

/** Connections that stay open between two jobs. */
let held = [];
/** How many answers have been complete. */
let answers = 0;

const JOBS = {
  /** Asks again and again on each connection, until `leave`. */
  async saturate({ port, body, connections, ms }) {
    const request = requestOf(body);
    for (let i = 0; i < connections; i++) {
      const connection = new Connection(port);
      connection.onEnd = () => {
        answers++;
        connection.ask(request);
      };
      connection.ask(request);
      held.push(connection);
    }
    await wait(ms);
    return {};
  },

  /** How many answers a second there are, from the end of one to the end of another, and how busy this makes us. */
  async count({ ms }) {
    const first = await nextAnswer();
    const cpu = process.cpuUsage();
    await wait(ms);
    const last = await nextAnswer();
    const { user, system } = process.cpuUsage(cpu);
    const elapsed = last.at - first.at;
    return {
      rate: (1000 * (last.answers - first.answers)) / elapsed,
      busy: (user + system) / 1000 / elapsed,
    };
  },

  /** Asks one query after another on one connection: how long the first event takes, milliseconds. */
  async first({ port, body, queries }) {
    const request = requestOf(body);
    const connection = new Connection(port);
    const times = [];
    for (let i = -20; i < queries; i++) {
      let came;
      const ended = new Promise((resolve) => (connection.onEnd = resolve));
      connection.onRead = (bytes) => {
        if (came === undefined && bytes.indexOf(DATA) >= 0) came = performance.now();
      };
      const began = performance.now();
      connection.ask(request);
      await ended;
      if (i >= 0) times.push(came - began);
      await wait(2);
    }
    connection.socket.destroy();
    return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  },

  /** Reads many paced streams: events a second, and how long they were on their way, milliseconds. */
  async pace({ port, body, connections, ms }) {
    const streams = await open(port, body, connections);
    const counters = streams.map(() => new EventCounter());
    const delays = [];
    streams.forEach((stream, i) => {
      const isProbe = i % PROBE === 0;
      stream.onRead = (bytes) => {
        counters[i].take(bytes);
        if (isProbe) delays.push(...delaysIn(bytes));
      };
    });
    await wait(1500);
    const before = sum(counters);
    delays.length = 0;
    const cpu = process.cpuUsage();
    const began = performance.now();
    await wait(ms);
    const elapsed = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    held = streams;
    return {
      rate: ((sum(counters) - before) / elapsed) * 1000,
      p50: percentile(delays, 0.5),
      p99: percentile(delays, 0.99),
      busy: (user + system) / 1000 / elapsed,
    };
  },

  /** Opens streams and keeps them until `leave`. */
  async hold({ port, body, connections }) {
    held = await open(port, body, connections);
    return {};
  },

  /** Asks on many connections and reads nothing until `read`. */
  async stall({ port, body, connections, ms }) {
    const request = requestOf(body);
    for (let i = 0; i < connections; i++) {
      const connection = new Connection(port);
      connection.socket.pause();
      connection.ask(request);
      held.push(connection);
    }
    await wait(ms);
    return {};
  },

  /** Reads stalled streams to their end: the fewest events that one of them had, and how many were cut. */
  async read({ ms }) {
    const counters = held.map(() => new EventCounter());
    const ends = held.map(
      (connection, i) =>
        new Promise((resolve) => {
          connection.onRead = (bytes) => counters[i].take(bytes);
          connection.onEnd = () => resolve(true);
          connection.socket.on('close', () => resolve(false)).resume();
        }),
    );
    const late = wait(ms, false);
    const ended = await Promise.all(ends.map((end) => Promise.race([end, late])));
    return {
      least: Math.min(...counters.map(({ count }) => count)),
      cut: ended.filter((end) => !end).length,
    };
  },

  async leave() {
    for (const { socket } of held) socket.destroy();
    held = [];
    return {};
  },

  /** Sends a file of so many bytes within a query: seconds until it was answered. */
  async send({ port, plan, size }) {
    const block = Buffer.alloc(48 * 1024, 'file content').toString('base64');
    const blocks = Math.round(((size / 3) * 4) / block.length);
    const rest = blocks === 0 ? 'aGVsbG8gd29ybGQh' : '';
    const head = `{"parts":[{"type":"text","text":"${plan}"},{"type":"file","name":"a.bin","mimeType":"application/octet-stream","base64":"${rest}`;
    const tail = '"}],"kwargs":{}}';
    const connection = new Connection(port);
    const length = head.length + blocks * block.length + tail.length;
    const request = requestOf('').replace('Content-Length: 0', `Content-Length: ${length}`);
    const began = performance.now();
    const ended = new Promise((resolve) => (connection.onEnd = resolve));
    connection.ask(request + head);
    const bytes = Buffer.from(block);
    for (let i = 0; i < blocks; i++) {
      if (!connection.socket.write(bytes)) await new Promise((go) => connection.socket.once('drain', go));
    }
    connection.socket.write(tail);
    await ended;
    connection.socket.destroy();
    return { seconds: (performance.now() - began) / 1000 };
  },
};

/** Opens streams, and waits until each has begun. */
async function open(port, body, connections) {
  const request = requestOf(body);
  const streams = [];
  const openNext = async () => {
    while (streams.length < connections) {
      const connection = new Connection(port);
      streams.push(connection);
      const began = new Promise((resolve) => {
        connection.onRead = (bytes) => bytes.indexOf(DATA) >= 0 && resolve();
      });
      connection.ask(request);
      await began;
      connection.onRead = () => undefined;
    }
  };
  await Promise.all(Array.from({ length: OPENING }, openNext));
  return streams;
}

async function nextAnswer() {
  const before = answers;
  while (answers === before) await wait(1);
  return { answers, at: performance.now() };
}

function* delaysIn(bytes) {
  const now = Number(stamp());
  for (let at = bytes.indexOf(STAMP); at >= 0; at = bytes.indexOf(STAMP, at + 1)) {
    yield (now - Number(bytes.latin1Slice(at + 3, at + 19))) / 1000;
  }
}

const sum = (counters) => counters.reduce((total, { count }) => total + count, 0);

function percentile(values, share) {
  return values.sort((a, b) => a - b)[Math.floor(values.length * share)];
}

process.on('message', async ({ job, ...options }) => process.send(await JOBS[job](options)));
process.on('disconnect', () => process.exit());
