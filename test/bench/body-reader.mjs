/**
 * What one large file in a query's body costs, next to cheaper and to ordinary ways of taking it. Each measurement has a
 * fresh server process and one process that sends; rounds are interleaved and medians taken.
 *
 *   npm run build && node test/bench/body-reader.mjs [rounds = 5]
 */
import { Buffer } from 'node:buffer';
import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const MB = 1e6;
const FILE = fileURLToPath(import.meta.url);

const WAYS = {
  'read and throw away': async (request) => {
    request.resume();
    await once(request, 'end');
  },
  'read and hash': async (request) => {
    const hash = createHash('sha256');
    request.on('data', (chunk) => hash.update(chunk));
    await once(request, 'end');
    hash.digest('hex');
  },
  'JSON.parse and Buffer.from': async (request) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    await once(request, 'end');
    const body = JSON.parse(Buffer.concat(chunks).toString());
    for (const part of body.parts) part.content = Buffer.from(part.base64, 'base64');
  },
  'this reader': async (request, { readBody, limits, spool }) => {
    const document = await readBody(request, limits, spool);
    await document.discard();
  },
};

const LOADS = [
  { size: 100 * MB, senders: 1, ways: Object.keys(WAYS) },
  { size: 100 * MB, senders: 8, ways: ['read and throw away', 'read and hash', 'this reader'] },
  { size: 1000 * MB, senders: 1, ways: ['read and throw away', 'read and hash', 'this reader'] },
];

async function serve(way) {
  const { Spool } = await import('../../dist/query/body/spool.js');
  const { readBody } = await import('../../dist/query/body/read-body.js');
  const { DEFAULT_BODY_LIMITS } = await import('../../dist/query/body/limits.js');
  const limits = { ...DEFAULT_BODY_LIMITS, fileBytes: 4e9, filesBytes: 4e9 };
  const spool = await Spool.open();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const server = createServer((request, response) => {
    WAYS[way](request, { readBody, limits, spool }).then(
      () => response.end(),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  let before = 0;
  const start = () => {
    before = process.memoryUsage.rss();
    delay.enable();
    process.send('started');
  };
  const stop = async () => {
    delay.disable();
    const growth = process.resourceUsage().maxRSS * 1024 - before;
    await spool.close();
    process.send({ growth, delay: delay.max / 1e6 }, () => process.exit());
  };
  process.on('message', (message) => (message === 'start' ? start() : stop()));
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
}

/** Sends one body and waits for its answer. */
async function post(port, size) {
  const block = randomBytes(48 * 1024).toString('base64');
  const before = '{"parts":[{"type":"file","name":"a.bin","mimeType":"application/octet-stream","base64":"';
  const after = '"}],"kwargs":{}}';
  const blocks = Math.ceil(((size / 3) * 4) / block.length);
  const request = httpRequest({ port, host: '127.0.0.1', method: 'POST' });
  request.setHeader('Content-Length', before.length + blocks * block.length + after.length);
  request.write(before);
  const bytes = Buffer.from(block);
  for (let i = 0; i < blocks; i++) if (!request.write(bytes)) await once(request, 'drain');
  request.end(after);
  const [response] = await once(request, 'response');
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`);
}

async function send(port, size, senders) {
  const started = performance.now();
  await Promise.all(Array.from({ length: senders }, () => post(port, size)));
  process.send(performance.now() - started, () => process.exit());
}

async function measure(way, { size, senders }) {
  const server = fork(FILE, ['serve', way]);
  const [port] = await once(server, 'message');
  await once(fork(FILE, ['send', port, MB, 1]), 'message');
  server.send('start');
  await once(server, 'message');
  const [ms] = await once(fork(FILE, ['send', port, size, senders]), 'message');
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
    console.log(`\n${load.senders} × ${load.size / MB} MB, median (worst) of ${rounds} rounds`);
    const rows = [...results].map(([way, all]) => {
      const of = (key) => all.map((one) => one[key]);
      const both = (key, unit) =>
        `${(median(of(key)) / unit).toFixed(1)} (${(Math.max(...of(key)) / unit).toFixed(1)})`;
      return {
        way,
        ms: both('ms', 1),
        'memory growth MB': both('growth', MB),
        'longest loop delay ms': both('delay', 1),
        time: median(of('ms')),
      };
    });
    const ours = rows.at(-1).time;
    console.table(
      rows.map(({ time, ...row }) => ({
        ...row,
        'time of this reader / its time': (ours / time).toFixed(2),
      })),
    );
  }
}

const [role, first, second, third] = process.argv.slice(2);
if (role === 'serve') await serve(first);
else if (role === 'send') await send(Number(first), Number(second), Number(third));
else await compare(Number(role ?? 5));
