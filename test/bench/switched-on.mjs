/**
 * What access, limits, metrics, log lines and traces cost the service together:
 *
 *     npm run build && node test/bench/switched-on.mjs [--pairs 5] [--rounds 10] [--seconds 2]
 *       [--database memory|file] [--load mixed|small] [--base <dist>]
 *
 * Two services take turns under the same load: one with everything off and only errors in its log, and one with everything on:
 * an API key with each query, a rate of queries, limits of running and waiting runs, a scrape of the metrics each second, and a
 * JSON line in the log for each admission and each end. The mixed load has the three kinds of queries of `npm run bench` that are
 * bound by a core, each with about a third of the time: 24 connections send eight small queries, one of 1,000 events at once and
 * one of 100 events that are a tick apart, again and again. The small load has only small queries, where a query costs most.
 * Prints queries a second of each round, and the median of their ratios. `--base` names the build of an older version, to compare
 * with that. Needs Linux.
 *
 * A second is one in which the service uses a core, so that other work of the machine counts less. Two processes of the same
 * build differ by up to a twentieth for as long as they live. Therefore several pairs are measured.
 */
import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Connection } from './load/connection.mjs';

const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '2' },
    database: { type: 'string', default: 'memory' },
    load: { type: 'string', default: 'mixed' },
    base: { type: 'string' },
  },
});
const CONNECTIONS = 24;
const SMALL = Array.from({ length: 8 }, () => 'burst 1');
const PLANS = { small: SMALL, mixed: [...SMALL, 'burst 1000', 'tick 100'] }[options.load];
const KEY = 'naq_bench';
const DIST = resolve(import.meta.dirname, '../../dist');

const OFF = { LOG_LEVEL: 'error' };
const ON = {
  LOG_FORMAT: 'json',
  API_KEYS: `bench:${createHash('sha256').update(KEY).digest('hex')}`,
  QUERIES_PER_MINUTE: '1000000',
  MAX_RUNNING_PER_OWNER: '5000',
  MAX_WAITING_PER_OWNER: '5000',
  MAX_UPLOAD_BYTES_PER_OWNER: '1000000000',
};

async function start(name, dist, environment) {
  const directory = await mkdtemp(join(tmpdir(), `switched-${name}-`));
  const child = spawn('taskset', ['-c', '0', process.execPath, join(dist, 'main.js')], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      AGENT: join(import.meta.dirname, 'bench-agent.mjs'),
      DATABASE_URL: { memory: 'memory:', file: 'file:./bench.db' }[options.database],
      RETENTION_RUN_MS: '10000',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  const port = await new Promise((listening, failed) => {
    child.once('exit', (code) => failed(new Error(`The service ended with ${code}.`)));
    child.stdout.on('data', (chunk) => {
      output = (output + chunk).slice(-1_000);
      const [, found] = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(output) ?? [];
      if (found) listening(Number(found));
    });
  });
  child.removeAllListeners('exit');
  const authorization = environment.API_KEYS ? `Authorization: Bearer ${KEY}` : undefined;
  const stop = async () => {
    child.kill('SIGKILL');
    await new Promise((stopped) => child.once('exit', stopped));
    await rm(directory, { recursive: true, force: true });
  };
  return { name, port, pid: child.pid, authorization, stop };
}

/** How long a process and its threads have used a core, in milliseconds. */
async function cpuMs(pid) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

function requestOf(plan, authorization) {
  const body = JSON.stringify({ parts: [{ type: 'text', text: plan }] });
  const head = [
    'POST /query HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    ...(authorization ? [authorization] : []),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Queries a second of a core that the service uses, under the mixed load. */
async function measure({ port, pid, authorization }, seconds) {
  const requests = PLANS.map((plan) => requestOf(plan, authorization));
  let answers = 0;
  let isOver = false;
  const clients = Array.from({ length: CONNECTIONS }, (_, offset) => {
    const connection = new Connection(port);
    let next = offset;
    return new Promise((closed) => {
      connection.onEnd = () => {
        answers++;
        if (!isOver) return connection.ask(requests[next++ % requests.length]);
        connection.socket.destroy();
        closed();
      };
      connection.ask(requests[next++ % requests.length]);
    });
  });
  const scraping = setInterval(() => void scrape(port, authorization), 1_000);
  const began = await cpuMs(pid);
  await delay(1_000 * seconds);
  const rate = (1_000 * answers) / ((await cpuMs(pid)) - began);
  clearInterval(scraping);
  isOver = true;
  await Promise.all(clients);
  return rate;
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle) - 1]) / 2;
}

async function scrape(port, authorization) {
  if (!authorization) return;
  const headers = { Authorization: authorization.slice('Authorization: '.length) };
  await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
}

const ratios = [];
for (let pair = 1; pair <= Number(options.pairs); pair++) {
  const off = await start('off', options.base ? resolve(options.base) : DIST, OFF);
  const on = await start('on', DIST, ON);
  for (let warming = 0; warming < 4; warming++) for (const service of [off, on]) await measure(service, 4);
  for (let round = 1; round <= Number(options.rounds); round++) {
    const rates = {};
    // Who comes first changes, so that a machine that becomes slower does not favour one.
    for (const service of round % 2 ? [off, on] : [on, off])
      rates[service.name] = await measure(service, Number(options.seconds));
    ratios.push(rates.on / rates.off);
    console.log(`pair ${pair}: off ${Math.round(rates.off)}/s, on ${Math.round(rates.on)}/s`);
  }
  await Promise.all([off.stop(), on.stop()]);
}
console.log(`ratio ${median(ratios).toFixed(2)} (median of ${ratios.length})`);
