/**
 * Whether the service stays the same for hours under everything that clients do:
 *
 *     npm run build && node test/bench/soak.mjs [--minutes 60] [--streams 5000] [--database file|memory|postgres] [--seed 1]
 *
 * `--streams` answers stream at any time, an event every few seconds each. Beside them small queries, some with files and
 * sessions, are sent all the time, and some readers stall: they ask for a large answer and read nothing for a minute or more. Of
 * the streams a tenth is cancelled, a fifth loses its connection and resumes, a tenth of the clients is killed and never comes
 * back, and a tenth has a second follower. With `postgres`, two processes share a database server that the program starts:
 * cancels, resumed streams and second followers use the other process then. Every answer must be whole and in order; each event
 * of a resumed stream must come once.
 *
 * Prints a row a minute: what `GET /metrics` of each process tells (resident memory, heap, descriptors, timers), the bytes in
 * the folder of the services, and what the clients did. The exit code is 1 if an answer was wrong, or if the median of
 * memory, descriptors or timers of the last rows exceeds that after the first fifth by more than a sixth. Needs Linux.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import http from 'node:http';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { randomFrom } from '../support/random.mjs';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    streams: { type: 'string', default: '5000' },
    database: { type: 'string', default: 'file' },
    seed: { type: 'string', default: '1' },
  },
});
const STREAMS = Number(options.streams);
const MINUTES = Number(options.minutes);
const EVENTS = 12;
const EVERY_MS = 10_000;
const QUERIES_AT_ONCE = 4;
/** How many readers are stalled at any time, and the answer of 8 MB that each of them does not read. */
const STALLED = 20;
const UNREAD = { events: 80, every: 0, characters: 100_000 };
/** Pause between two small queries of one client, so that the load does not depend on the speed of the machine. */
const PAUSE_MS = 50;
/** What is kept is bounded, so that growth is a leak. */
const RETENTION = { RETENTION_RUN_MS: '300000', RETENTION_SESSION_MS: '300000', RETENTION_FILE_MS: '300000' };
const GROWTH = 1 + 1 / 6;

const directory = await mkdtemp(join(tmpdir(), 'soak-'));
const key = `naq_${randomBytes(32).toString('base64url')}`;
const authorization = `Bearer ${key}`;
const { next: random } = randomFrom(Number(options.seed));
const counts = {
  streamed: 0,
  cancelled: 0,
  resumed: 0,
  killed: 0,
  followed: 0,
  stalled: 0,
  queries: 0,
  wrong: 0,
};
let isOver = false;

async function startDatabase() {
  if (options.database !== 'postgres')
    return { url: { file: 'file:./soak.db', memory: 'memory:' }[options.database], close: () => undefined };
  register('../support/typescript-hooks.mjs', import.meta.url);
  const { startPostgres } = await import('../support/postgres.ts');
  return startPostgres();
}

async function startService(url) {
  const service = spawn(process.execPath, [join(import.meta.dirname, '../../dist/main.js')], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      LOG_FORMAT: 'json',
      AGENT: join(import.meta.dirname, 'soak-agent.mjs'),
      DATABASE_URL: url,
      API_KEYS: `soak:${createHash('sha256').update(key).digest('hex')}`,
      QUERIES_PER_MINUTE: '1000000',
      MAX_RUNNING_PER_OWNER: '9000',
      MAX_WAITING_PER_OWNER: '9000',
      ...RETENTION,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  const port = await new Promise((resolve, reject) => {
    service.once('exit', (code) => reject(new Error(`The service ended with ${code}.\n${output}`)));
    service.stdout.on('data', (chunk) => {
      output = (output + chunk).slice(-10_000);
      const [, found] = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(output) ?? [];
      if (found) resolve(Number(found));
    });
  });
  return { service, port };
}

const database = await startDatabase();
const services = [];
for (let count = options.database === 'postgres' ? 2 : 1; count > 0; count--)
  services.push(await startService(database.url));
/** The ports of two processes in random order, or twice the port of the only one. */
const somePorts = () => {
  const first = Math.floor(random() * services.length);
  return [services[first].port, services[services.length - 1 - first].port];
};

/** Sends a request; resolves with its response. */
function send(port, method, path, headers = {}, body = undefined) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, host: '127.0.0.1', method, path, agent: false });
    request.setHeader('Authorization', authorization);
    for (const [name, value] of Object.entries(headers)) request.setHeader(name, value);
    if (body !== undefined) request.setHeader('Content-Type', 'application/json');
    request.once('response', resolve).once('error', reject).end(body);
  });
}

const post = (port, query) =>
  send(port, 'POST', '/query', { Accept: 'text/event-stream' }, JSON.stringify(query));

const follow = (port, path, headers = {}) =>
  send(port, 'GET', path, { Accept: 'text/event-stream', ...headers });

async function textOf(response) {
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}

/** Reads events until the response ends, or until `stopAfter` of them have come. */
async function read(response, events, stopAfter = Infinity) {
  let rest = '';
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) {
      rest += chunk;
      const frames = rest.split('\n\n');
      rest = frames.pop();
      for (const frame of frames) {
        const id = /^id: (\S+)$/m.exec(frame)?.[1];
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data !== undefined) events.push({ id, ...JSON.parse(data) });
      }
      if (events.length >= stopAfter) return response.destroy();
    }
  } catch (error) {
    if (!response.destroyed) throw error;
  }
}

function check(events, status, what) {
  // The runs that still execute at the end are interrupted.
  if (isOver) return;
  const messages = events.filter(({ type }) => type === 'message').map(({ data }) => data.content);
  const last = events.at(-1);
  const inOrder = messages.every((content, index) => content === String(index + 1));
  const isComplete = status !== 'completed' || messages.length === EVENTS;
  if (last?.type === 'done' && last.data.status === status && inOrder && isComplete) return;
  counts.wrong++;
  console.error(`${what}: ${JSON.stringify(events).slice(-600)}`);
}

/** One client that streams: to the end, or until it cancels, loses its connection, or is killed. */
async function stream() {
  const [port, other] = somePorts();
  const response = await post(port, {
    parts: [{ type: 'text', text: 'count' }],
    kwargs: { events: EVENTS, every: EVERY_MS },
  });
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${await textOf(response)}`);
  const path = response.headers['content-location'];
  const events = [];
  const fate = random();
  counts.streamed++;
  if (fate < 0.1) {
    await read(response, events, 3);
    counts.killed++;
  } else if (fate < 0.2) {
    const reading = read(response, events);
    await delay(random() * 5 * EVERY_MS);
    await textOf(await send(other, 'DELETE', path));
    await reading;
    counts.cancelled++;
    check(events, 'cancelled', 'cancelled');
  } else if (fate < 0.4) {
    await read(response, events, 1 + Math.floor(random() * 6));
    await delay(random() * 5_000);
    await read(await follow(other, path, { 'Last-Event-ID': events.at(-1).id }), events);
    counts.resumed++;
    check(events, 'completed', 'resumed');
  } else if (fate < 0.5) {
    const same = [];
    await Promise.all([read(response, events), follow(other, path).then((answer) => read(answer, same))]);
    counts.followed++;
    check(same, 'completed', 'followed');
  } else {
    await read(response, events);
    check(events, 'completed', 'streamed');
  }
}

/** One reader that stalls: it reads nothing of a large answer, goes away, and another one comes. */
async function stalledReaders() {
  while (!isOver) {
    const [port] = somePorts();
    const response = await post(port, { parts: [{ type: 'text', text: 'count' }], kwargs: UNREAD });
    response.on('error', () => undefined);
    counts.stalled++;
    await delay(60_000 + random() * 120_000);
    response.destroy();
  }
}

/** One client that sends small queries, one after another. */
async function smallQueries(number) {
  for (let turn = 1; !isOver; turn++) {
    const parts = [{ type: 'text', text: 'count' }];
    if (turn % 10 === 0) {
      const bytes = randomBytes(100_000).toString('base64');
      parts.push({ type: 'file', name: 'a.bin', mimeType: 'application/octet-stream', base64: bytes });
    }
    const session = turn % 3 === 0 ? { session_id: `${number} ${turn % 30}` } : {};
    const events = [];
    const [port] = somePorts();
    await read(await post(port, { parts, kwargs: { events: EVENTS, every: 0, ...session } }), events);
    counts.queries++;
    check(events, 'completed', 'query');
    await delay(PAUSE_MS);
  }
}

/** Keeps a client streaming, one stream after another. */
async function streams() {
  // Streams begin one after another, not all at once.
  await delay(random() * EVENTS * EVERY_MS);
  while (!isOver) await stream();
}

async function databaseBytes() {
  let bytes = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile())
      bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  }
  return bytes;
}

/** What the processes tell of themselves: one figure for each process. */
async function rowOf(minute) {
  const texts = [];
  for (const { port } of services) texts.push(await textOf(await send(port, 'GET', '/metrics')));
  const values = (name) =>
    texts.map((text) => {
      const found = text
        .split('\n')
        .find((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
      return Number(found?.split(' ').at(-1) ?? 0);
    });
  const MB = (bytes) => Math.round(bytes / 1e5) / 10;
  return {
    minute,
    'resident MB': values('process_resident_memory_bytes').map(MB),
    'heap MB': values('nodejs_heap_size_used_bytes').map(MB),
    descriptors: values('process_open_fds'),
    timers: values('nodejs_active_resources{type="Timeout"}'),
    'database MB': MB(await databaseBytes()),
    ...counts,
  };
}

const fail = (error) => {
  if (isOver) return;
  counts.wrong++;
  console.error(error);
};
const rows = [];
const clients = [
  ...Array.from({ length: STREAMS }, () => streams().catch(fail)),
  ...Array.from({ length: STALLED }, () => stalledReaders().catch(fail)),
  ...Array.from({ length: QUERIES_AT_ONCE }, (_, number) => smallQueries(number).catch(fail)),
];
void clients;
for (let minute = 1; minute <= MINUTES; minute++) {
  await delay(60_000);
  rows.push(await rowOf(minute));
  console.log(JSON.stringify(rows.at(-1)));
}
isOver = true;

const settled = rows.slice(Math.floor(rows.length / 5));
const growing = ['resident MB', 'descriptors', 'timers'].filter((name) => {
  // The median: a single row shows what waits for the garbage collector while the machine is busy.
  const median = (part, n) => part.map((row) => row[name][n]).toSorted((x, y) => x - y)[part.length >> 1];
  const quarter = Math.ceil(settled.length / 4);
  const [first, last] = [settled.slice(0, quarter), settled.slice(-quarter)];
  return services.some((_, n) => median(last, n) > GROWTH * median(first, n));
});
const codes = [];
for (const { service } of services) {
  service.removeAllListeners('exit');
  service.kill('SIGTERM');
  codes.push(await new Promise((resolve) => service.once('exit', resolve)));
}
await database.close();
await rm(directory, { recursive: true, force: true });
console.log(JSON.stringify({ growing, wrong: counts.wrong, 'exit codes of the services': codes }));
process.exit(growing.length === 0 && counts.wrong === 0 && codes.every((code) => code === 0) ? 0 : 1);
