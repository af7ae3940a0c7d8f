/** The load process: does one job after another and sends back what it has seen. */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { stamp } from '../work.mjs';
import { Connection, EventCounter, requestOf } from './connection.mjs';
import { sendFile } from './file.mjs';

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
/** Whether nothing more is asked for. */
let isResting = false;

const JOBS = {
  /** Asks again and again on each connection, until `rest`. */
  async saturate({ port, path, body, isFull, connections, ms }) {
    const request = requestOf(body, isFull, path);
    for (let i = 0; i < connections; i++) {
      const connection = new Connection(port);
      connection.onEnd = () => {
        answers++;
        if (isResting) connection.socket.destroy();
        else connection.ask(request);
      };
      connection.ask(request);
      held.push(connection);
    }
    await wait(ms);
    return {};
  },

  /** Asks so many queries, on so many connections at once. */
  async ask({ port, body, connections, queries }) {
    const request = requestOf(body);
    let left = queries;
    const askInTurn = () =>
      new Promise((resolve) => {
        const connection = new Connection(port);
        const askNext = () => {
          if (left-- > 0) return connection.ask(request);
          connection.socket.destroy();
          resolve();
        };
        connection.onEnd = askNext;
        askNext();
      });
    await Promise.all(Array.from({ length: connections }, askInTurn));
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

  /** Opens more streams, `opening` at a time, and keeps them until `leave`. */
  async hold({ port, body, connections, opening = OPENING }) {
    held.push(...(await open(port, body, connections, opening)));
    return {};
  },

  /** Reads open streams of stamped events: events a second, how long they were on their way, milliseconds. */
  async watch({ ms }) {
    const counters = held.map(() => new EventCounter());
    const delays = [];
    held.forEach((stream, i) => {
      const isProbe = i % PROBE === 0;
      stream.onRead = (bytes) => {
        counters[i].take(bytes);
        if (isProbe) delays.push(...delaysIn(bytes));
      };
    });
    const cpu = process.cpuUsage();
    const began = performance.now();
    await wait(ms);
    const elapsed = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    return {
      rate: (sum(counters) / elapsed) * 1000,
      p50: percentile(delays, 0.5),
      p99: percentile(delays, 0.99),
      busy: (user + system) / 1000 / elapsed,
    };
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

  /**
   * Reads stalled streams to their end: the fewest events that one of them had, and how many were cut, which is to end
   * before so many events or not at all.
   */
  async read({ ms, events }) {
    const counters = held.map(() => new EventCounter());
    const ends = held.map(
      (connection, i) =>
        new Promise((resolve) => {
          connection.onRead = (bytes) => counters[i].take(bytes);
          connection.onEnd = () => resolve(counters[i].count >= events);
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

  /** Asks no more, and waits for the answers that are under way: a server that is cut off has more to do than to answer. */
  async rest() {
    isResting = true;
    await Promise.all(held.map(({ socket }) => socket.closed || once(socket, 'close')));
    isResting = false;
    held = [];
    return {};
  },

  async leave() {
    for (const { socket } of held) socket.destroy();
    held = [];
    return {};
  },

  /** Sends a file from so many clients at once, so many times: milliseconds until all of them were answered. */
  async send({ port, plan, size, clients, times }) {
    const taken = [];
    for (let i = 0; i < times; i++) {
      const began = performance.now();
      await Promise.all(Array.from({ length: clients }, () => sendFile(port, plan, size)));
      taken.push(performance.now() - began);
    }
    return { ms: percentile(taken, 0.5) };
  },
};

/** Opens streams, and waits until each has begun. */
async function open(port, body, connections, opening) {
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
  await Promise.all(Array.from({ length: opening }, openNext));
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
