/**
 * What the body of a query costs: read by this module, by the ordinary stack (Nest's default parser with its limit
 * raised, class-validator's `@IsBase64`, `Buffer.from`), and by nobody. Each measurement has a fresh server process and
 * one process that sends; rounds are interleaved and medians taken.
 *
 *   npm run build && node test/bench/bodies.mjs [rounds = 3]
 *
 * How it can lie: sender and server share the machine, so that on two cores a sender that is slow hides a fast server;
 * memory growth is the peak of the resident set since just before the load, garbage included; the ordinary stack hashes
 * nothing and keeps everything in memory, which is less than what this module does.
 */
import { Buffer } from 'node:buffer';
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const MB = 1e6;
const FILE = fileURLToPath(import.meta.url);

const BARE = ['read and throw away', 'read and hash'];
const ORDINARY = ['ordinary stack, Express', 'ordinary stack, Fastify'];
const OURS = ['this module, Express', 'this module, Fastify'];

const LOADS = [
  {
    title: 'one file of 100 MB',
    size: 100 * MB,
    senders: 1,
    queries: 1,
    ways: [...BARE, ...ORDINARY, ...OURS],
  },
  { title: '8 files of 100 MB at once', size: 100 * MB, senders: 8, queries: 1, ways: [...BARE, ...OURS] },
  { title: 'one file of 1 GB', size: 1000 * MB, senders: 1, queries: 1, ways: [...BARE, ...OURS] },
  {
    title: '8 × 3,000 queries of 200 bytes',
    size: 0,
    senders: 8,
    queries: 3000,
    ways: [...ORDINARY, ...OURS],
  },
];

async function serve(way) {
  const { SERVERS } = await import('./body-servers.mjs');
  const port = await SERVERS[way]();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let before = 0;
  process.on('message', (message) => {
    if (message === 'start') {
      before = process.memoryUsage.rss();
      delay.enable();
      return process.send('started');
    }
    delay.disable();
    const growth = process.resourceUsage().maxRSS * 1024 - before;
    process.send({ growth, delay: delay.max / 1e6 }, () => process.exit());
  });
  process.send(port);
}

const HEADERS = { 'Content-Type': 'application/json' };
const SMALL = JSON.stringify({
  parts: [
    { type: 'text', text: 'What is the meaning of this sentence, and who wrote it first? Answer briefly.' },
  ],
  kwargs: { session: 'none', temperature: 0.5, model: 'small', language: 'en', trace: 'off' },
});

async function answered(request) {
  const [response] = await once(request, 'response');
  response.resume();
  await once(response, 'end');
  if (response.statusCode > 201) throw new Error(`answered ${response.statusCode}`);
}

/** Sends one file and waits for its answer. */
async function sendFile(port, size) {
  const block = randomBytes(48 * 1024).toString('base64');
  const before = '{"parts":[{"type":"file","name":"a.bin","mimeType":"application/octet-stream","base64":"';
  const after = '"}],"kwargs":{}}';
  const blocks = Math.ceil(((size / 3) * 4) / block.length);
  const length = before.length + blocks * block.length + after.length;
  const headers = { ...HEADERS, 'Content-Length': length };
  const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/query', headers });
  const done = answered(request);
  request.write(before);
  const bytes = Buffer.from(block);
  for (let i = 0; i < blocks; i++) if (!request.write(bytes)) await once(request, 'drain');
  request.end(after);
  await done;
}

async function sendSmall(port, queries) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < queries; i++) {
    const request = httpRequest({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/query',
      headers: HEADERS,
      agent,
    });
    request.end(SMALL);
    await answered(request);
  }
  agent.destroy();
}

async function send(port, { size, senders, queries }) {
  const started = performance.now();
  const one = () => (size > 0 ? sendFile(port, size) : sendSmall(port, queries));
  await Promise.all(Array.from({ length: senders }, one));
  process.send(performance.now() - started, () => process.exit());
}

async function measure(way, load) {
  const server = fork(FILE, ['serve', way]);
  const [port] = await once(server, 'message');
  const warmUp = { ...load, size: Math.min(load.size, MB), senders: 1 };
  await once(fork(FILE, ['send', port, JSON.stringify(warmUp)]), 'message');
  server.send('start');
  await once(server, 'message');
  const [ms] = await once(fork(FILE, ['send', port, JSON.stringify(load)]), 'message');
  server.send('stop');
  const [result] = await once(server, 'message');
  return { ms, ...result };
}

function median(numbers) {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

async function compare(rounds) {
  for (const load of LOADS) {
    const results = new Map(load.ways.map((way) => [way, []]));
    for (let round = 0; round < rounds; round++) {
      for (const way of load.ways) results.get(way).push(await measure(way, load));
    }
    const of = (way, key) => median(results.get(way).map((one) => one[key]));
    const rows = load.ways.map((way) => ({
      way,
      ms: Math.round(of(way, 'ms')),
      'memory growth MB': Math.round(of(way, 'growth') / MB),
      'longest loop delay ms': Math.round(of(way, 'delay')),
      ...Object.fromEntries(
        OURS.map((our) => [`time of ${our} / its time`, (of(our, 'ms') / of(way, 'ms')).toFixed(2)]),
      ),
    }));
    console.log(`\n${load.title}, median of ${rounds} rounds`);
    console.table(rows);
  }
}

const [role, first, second] = process.argv.slice(2);
if (role === 'serve') await serve(first);
else if (role === 'send') await send(Number(first), JSON.parse(second));
else await compare(Number(role ?? 3));
