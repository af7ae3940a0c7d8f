/**
 * Sends very many small queries to a service that keeps little, and checks that its memory and its database stay as they are:
 *
 *     npm run build && node test/chaos/soak.mjs [--store memory|file|postgres] [--queries 1000000] [--at-once 32] [--seed 1]
 *         [--rounds 10] [--adapter fastify|express]
 *
 * The queries are sent in rounds. After each round the load pauses until nothing of it is open. Runs are dropped by their age, so
 * none may be left then. Sessions and files are dropped by their size, so they may not exceed it. With ten rounds or more, the
 * memory and the size of the database after the last round must not be above those after the second round by more than the
 * tolerance: 4 MB of heap, 48 MB of resident memory, and 25 % + 2 MB of the database. The exit code is 1 if a check fails. Needs
 * Linux.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Connection, requestOf } from '../bench/load/connection.mjs';
import { ObservedService } from './observed-service.mjs';
import { randomFrom } from '../support/random.mjs';

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'memory' },
    queries: { type: 'string', default: '1000000' },
    'at-once': { type: 'string', default: '32' },
    rounds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    adapter: { type: 'string', default: 'fastify' },
  },
});
const QUERIES = Number(values.queries);
const AT_ONCE = Number(values['at-once']);
const ROUNDS = Number(values.rounds);
const RETENTION = { runMs: 500, sessionsLength: 256 * 1024, filesBytes: 4 * 1024 * 1024 };
/** A handler is given few turns, so that a query of the session that is used all the time costs the same in each round. */
const OPTIONS = { limits: { memoryBytes: 1024 }, runs: { sessionTurns: 5, disconnect: 'continue' } };
/** In fewer rounds the memory of a new process has not come to rest, and is only printed. */
const JUDGED_ROUNDS = 10;
/** How much more there may be after the last round than after the second one. */
const TOLERANCE = { heap: 4e6, resident: 48e6, database: 0.25, databaseBytes: 2e6 };
/** So many objects of a class may be left, because Node and the adapters keep what they used last. */
const LAST_USED = 2;
/** Queries before the first round. */
const WARMING_UP = Math.min(500, Math.floor(QUERIES / ROUNDS));
const DATABASE_FILE = 'soak.db';
/** How long it may take until everything that is too old is dropped. */
const DROPPED_MS = 60_000;

const MB = (bytes) => (bytes / 1e6).toFixed(1);

const failures = [];
const check = (condition, what) => {
  if (!condition) failures.push(what);
};
const random = randomFrom(Number(values.seed));
/** Requests that were sent. */
let requests = 0;

const text = (words) => ({ type: 'text', text: words });
const file = (bytes) => ({
  type: 'file',
  name: 'a.bin',
  mimeType: 'application/octet-stream',
  base64: Buffer.alloc(bytes, String(random.below(1e9))).toString('base64'),
});

/** What a query consists of, with its share of all queries. Some are sent twice with one idempotency key. */
const KINDS = [
  { share: 0.6, of: () => ({ parts: [text('echo hello')] }) },
  { share: 0.1, of: () => ({ parts: [text('burst 20')] }) },
  { share: 0.1, of: (n) => ({ parts: [text('echo again')], key: `key-${n}` }) },
  { share: 0.1, of: (n) => ({ parts: [text('echo turn')], session: `session-${Math.floor(n / 50)}` }) },
  { share: 0.03, of: () => ({ parts: [text('echo turn')], session: 'always' }) },
  { share: 0.05, of: () => ({ parts: [text('echo file'), file(300)] }) },
  { share: 0.02, of: (n) => ({ parts: [text('echo file'), file(3000)], session: `files-${n}` }) },
];

/** The bytes of the requests that one query takes. */
function requestsOf(number) {
  let at = random.next();
  const { parts, key, session } = KINDS.find(({ share }) => (at -= share) < 0).of(number);
  const request = requestOf(JSON.stringify({ parts, kwargs: session ? { session_id: session } : {} }));
  if (!key) return [request];
  return Array(2).fill(request.replace('\r\n', `\r\nIdempotency-Key: ${key}\r\n`));
}

/** Sends so many queries on some connections, and resolves when all are answered. */
async function send(port, count, first) {
  let sent = 0;
  const work = async () => {
    const connection = new Connection(port);
    while (sent < count) {
      for (const request of requestsOf(first + sent++)) {
        const answered = new Promise((resolve) => (connection.onEnd = resolve));
        connection.ask(request);
        requests++;
        await answered;
      }
    }
    connection.socket.destroy();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Waits until all runs are old enough, and until they are dropped. Returns what is stored then. */
async function dropped(service) {
  await delay(RETENTION.runMs);
  const deadline = Date.now() + DROPPED_MS;
  for (;;) {
    await service.sweep();
    // Postgres uses the space of deleted rows again after a vacuum, which it does by itself once a minute.
    await service.vacuum();
    const stored = await service.stored();
    if ((!stored.rows.runs && !stored.rows.log) || Date.now() > deadline) return stored;
  }
}

async function startDatabase(directory) {
  if (values.store === 'memory') return { url: 'memory:', close: () => undefined };
  if (values.store === 'file')
    return { url: `file:${join(directory, DATABASE_FILE)}`, close: () => undefined };
  register('../support/typescript-hooks.mjs', import.meta.url);
  const { startPostgres } = await import('../support/postgres.ts');
  return startPostgres();
}

const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-soak-'));
const database = await startDatabase(directory);
const rounds = [];
let service;

/** Sends the queries of one round, and looks at what they have left behind. */
async function runRound(round) {
  const first = Math.floor((QUERIES * round) / ROUNDS);
  const count = Math.floor((QUERIES * (round + 1)) / ROUNDS) - first;
  const began = performance.now();
  await send(service.port, count, first);
  const rate = (1000 * count) / (performance.now() - began);
  const peak = await service.stored();
  const open = await service.until(({ running, descriptors }) => running === 0 && descriptors <= idle);
  const sweeping = performance.now();
  const { rows, turnsLength, contentBytes, bytes } = await dropped(service);
  const swept = performance.now() - sweeping - RETENTION.runMs;
  const { counts, memory } = await service.report(true);
  const disk = await filesOfStore();

  const where = `after round ${round + 1}`;
  // On a slow machine a run may be dropped before its query is repeated, which then becomes another run.
  const { admitted, repeated, ended } = counts;
  check(
    admitted + repeated === requests,
    `${where}: ${admitted} + ${repeated} runs for ${requests} requests`,
  );
  check(repeated > 0, `${where}: no query was repeated`);
  check(ended === admitted, `${where}: ${ended} of ${admitted} runs have ended`);
  check(open.descriptors <= idle, `${where}: ${open.descriptors} descriptors are open instead of ${idle}`);
  check(open.spooled === 0, `${where}: ${open.spooled} files are in the spool`);
  check(!rows.runs && !rows.log, `${where}: rows are left: ${JSON.stringify(rows)}`);
  check(turnsLength <= RETENTION.sessionsLength, `${where}: the turns have ${turnsLength} characters`);
  check(contentBytes <= RETENTION.filesBytes, `${where}: the files have ${contentBytes} bytes`);
  if (values.store === 'file')
    check(disk.contents === rows.contents, `${where}: ${disk.contents} files for ${rows.contents} contents`);
  rounds.push({ resident: memory.rss, heap: memory.heapUsed, database: bytes + disk.bytes });

  const figures = `${rate.toFixed(0)} queries/s, resident ${MB(memory.rss)} MB, heap ${MB(memory.heapUsed)} MB`;
  console.log(`round ${round + 1}/${ROUNDS}: ${figures}`);
  if (values.store === 'memory') return;
  const dropping = `${peak.rows.runs} runs dropped in ${Math.max(0, swept).toFixed(0)} ms`;
  console.log(`  database ${MB(bytes + disk.bytes)} MB, ${dropping}, left: ${JSON.stringify(rows)}`);
}

/** The size of a SQLite database with its write-ahead log and its journal, and how many contents are in its directory. */
async function filesOfStore() {
  if (values.store !== 'file') return { bytes: 0, contents: 0 };
  const ends = ['', '-wal', '.journal1', '.journal2'];
  const sizes = await Promise.all(ends.map((end) => stat(`${join(directory, DATABASE_FILE)}${end}`)));
  const contents = await readdir(`${join(directory, DATABASE_FILE)}.files`, {
    recursive: true,
    withFileTypes: true,
  });
  return {
    bytes: sizes.reduce((sum, { size }) => sum + size, 0),
    contents: contents.filter((entry) => entry.isFile()).length,
  };
}

function checkGrowth() {
  const [, second] = rounds;
  const last = rounds.at(-1);
  const heap = last.heap - second.heap;
  const resident = last.resident - second.resident;
  check(heap <= TOLERANCE.heap, `the heap has grown by ${MB(heap)} MB`);
  check(resident <= TOLERANCE.resident, `the resident memory has grown by ${MB(resident)} MB`);
  check(
    last.database - second.database <= second.database * TOLERANCE.database + TOLERANCE.databaseBytes,
    `the database has grown from ${MB(second.database)} to ${MB(last.database)} MB`,
  );
}

let idle;
try {
  const settings = {
    adapter: values.adapter,
    database: database.url,
    retention: RETENTION,
    options: OPTIONS,
  };
  service = await ObservedService.start(settings, join(directory, 'spool'));
  await send(service.port, WARMING_UP, -WARMING_UP);
  const atRest = await service.until(({ running, followers }) => running + followers === 0);
  idle = atRest.descriptors;
  for (let round = 0; round < ROUNDS; round++) await runRound(round);
  if (ROUNDS >= JUDGED_ROUNDS) checkGrowth();
  const objects = await service.objects('Run', 'Runner');
  const isLeft = Math.max(...Object.values(objects)) > LAST_USED;
  check(!isLeft, `objects are left: ${JSON.stringify(objects)}`);
  await service.close();
  for (const line of service.lines) check(false, `the service printed: ${line}`);
} finally {
  service?.child.kill('SIGKILL');
  await database.close();
  await rm(directory, { recursive: true });
}
for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(failures.length === 0 ? 'nothing has grown' : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;
