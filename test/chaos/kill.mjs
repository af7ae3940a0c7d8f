/**
 * Kills the service with SIGKILL at random moments while it streams runs, starts it again, and checks that nothing is lost:
 *
 *     npm run build && node test/chaos/kill.mjs [--postgres] [--rounds 20] [--runs 200]
 *     node test/chaos/kill.mjs --processes 3 [--kills 1000]
 *
 * With `--processes`, the service has so many processes on Postgres. Each round kills some of them, and sometimes all, at
 * moments of their own; `--kills` ends the program after so many kills. Then each run is read at a random process.
 *
 * Every envelope that a client received must be in the log of its run, unchanged. The numbers of a log must have no gaps.
 * Each run must end with exactly one `done`, and a webhook must tell that end, and no webhook anything else. Each session must answer another query. The database must pass its integrity
 * check. The exit code is 1 if a check fails.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Database from 'libsql';
import { eventsOf, isDone } from './caller.mjs';
import { addressIn } from './service.mjs';
import { receiveWebhooks } from './webhook-receiver.mjs';

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '20' },
    runs: { type: 'string', default: '200' },
    processes: { type: 'string' },
    kills: { type: 'string', default: 'Infinity' },
  },
});
const PROCESSES = Number(values.processes ?? 1);
const KILLS = Number(values.kills);
const ROUNDS = KILLS < Infinity ? Infinity : Number(values.rounds);
const RUNS = Number(values.runs);
const RUNS_PER_SESSION = 5;
const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-chaos-'));
const postgres = values.postgres || values.processes ? await startServer() : undefined;
const receiver = await receiveWebhooks();
const database = postgres?.url ?? `file:${join(directory, 'runs.db')}`;

const failures = [];
const check = (condition, what) => {
  if (!condition) failures.push(what);
};

async function startServer() {
  register('../support/typescript-hooks.mjs', import.meta.url);
  const { startPostgres } = await import('../support/postgres.ts');
  return startPostgres();
}

/** Starts a process of the service. Resolves when it listens. */
async function start() {
  const options = JSON.stringify({ leaseMs: PROCESSES > 1 ? 1_500 : 500 });
  const child = spawn(process.execPath, [join(import.meta.dirname, 'server.mjs'), database, options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, WEBHOOK_URL: receiver.url },
  });
  const exited = once(child, 'exit');
  const address = await addressIn(child.stdout);
  if (!address) throw new Error('The service does not start.');
  return {
    url: `${address}/query`,
    end: async (signal) => {
      child.kill(signal);
      await exited;
    },
  };
}

const FILE = Buffer.from('A file that a queued run needs after the restart. '.repeat(4000));
const FILE_PART = { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: FILE.toString('base64') };
const FILE_TEXT = `file ${createHash('sha256').update(FILE).digest('hex')} ${FILE.length}`;

/** Sends a query and reads its stream until it ends or is cut. */
async function ask(url, text, sessionId, onReceived = () => undefined) {
  const asked = { text, sessionId, runId: undefined, received: [] };
  const parts = [{ type: 'text', text }];
  if (sessionId) parts.push(FILE_PART);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ parts, kwargs: sessionId ? { session_id: sessionId } : {} }),
    });
    asked.runId = response.headers.get('content-location')?.split('/').at(-1);
    for await (const event of eventsOf(response)) {
      asked.received.push(event);
      onReceived();
    }
  } catch {
    // The service was killed.
  }
  return asked;
}

/** Follows a run until `done`, and resumes when the stream is cut. Returns the whole log. */
async function follow(url, runId) {
  const log = [];
  for (let tries = 0; tries < 100; tries++) {
    const response = await fetch(`${url}/${runId}?after=${log.length}`, {
      headers: { accept: 'text/event-stream' },
    });
    if (response.status === 204) return log;
    if (response.status !== 200) throw new Error(`Run ${runId} answers ${response.status}`);
    for await (const event of eventsOf(response)) {
      check(event.seq === log.length + 1, `run ${runId}: ${event.seq} follows ${log.length}`);
      log.push(event.data);
    }
    if (isDone(log.at(-1))) return log;
    await delay(100);
  }
  throw new Error(`Run ${runId} does not end`);
}

async function verify(url, { runId, received, sessionId }) {
  const log = await follow(url, runId);
  const dones = log.filter(isDone);
  check(
    dones.length === 1 && isDone(log.at(-1)),
    `run ${runId} has ${dones.length} envelopes of the type done`,
  );
  for (const { seq, data } of received)
    check(
      log[seq - 1] === data,
      `run ${runId}: envelope ${seq} differs from the one that the client received`,
    );
  const end = JSON.parse(log.at(-1)).data;
  check(
    end.status === 'completed' || end.error?.code === 'interrupted',
    `run ${runId} ended as ${JSON.stringify(end)}`,
  );
  if (sessionId && end.status === 'completed') {
    check(
      log.some((data) => JSON.parse(data).data.content === FILE_TEXT),
      `run ${runId} did not have its file`,
    );
  }
  return end.status;
}

const counts = { webhooks: 0, runs: 0, received: 0, completed: 0, failed: 0, refused: 0 };
let kills = 0;
/** The processes that run. */
let services = [];

function anyUrl() {
  return services[Math.floor(Math.random() * services.length)].url;
}

/** Kills one process, some, or all, each at a moment of its own, and starts as many again. Returns when these are ready. */
async function killSome() {
  const count = 1 + Math.floor(Math.random() * PROCESSES);
  const [...lost] = services.toSorted(() => Math.random() - 0.5).slice(0, count);
  await Promise.all(
    lost.map(async (service) => {
      await delay(Math.random() * 1500);
      await service.end('SIGKILL');
      kills++;
    }),
  );
  return async () => {
    const started = await Promise.all(lost.map(start));
    services = [...services.filter((service) => !lost.includes(service)), ...started];
  };
}

async function runRound(round) {
  let onReceived;
  const firstReceived = new Promise((resolve) => (onReceived = resolve));
  const sessionOf = (i) => (i % 2 ? `s${round}.${Math.floor(i / (2 * RUNS_PER_SESSION))}` : undefined);
  const asked = Array.from({ length: RUNS }, (_, i) =>
    ask(anyUrl(), `${round}.${i}`, sessionOf(i), onReceived),
  );
  // However slow the machine is, the kill comes while runs send something.
  await Promise.race([firstReceived, Promise.all(asked)]);
  const restart = await killSome();
  const killed = performance.now();
  await restart();
  const ready = performance.now() - killed;
  const runs = await Promise.all(asked);

  const admitted = runs.filter(({ runId }) => runId !== undefined);
  const verifying = admitted.map((run) =>
    verify(anyUrl(), run).catch((error) => void failures.push(error.message)),
  );
  const ends = await Promise.all(verifying);
  const sessions = [...new Set(admitted.map(({ sessionId }) => sessionId).filter(Boolean))];
  const again = await Promise.all(sessions.map((sessionId) => ask(anyUrl(), 'again', sessionId)));
  for (const { received, sessionId } of again)
    check(isDone(received.at(-1)?.data), `session ${sessionId} does not answer another query`);

  const received = admitted.reduce((sum, run) => sum + run.received.length, 0);
  counts.runs += admitted.length;
  counts.refused += runs.length - admitted.length;
  counts.received += received;
  for (const end of ends) if (end) counts[end]++;
  console.log(
    `round ${round}: ${admitted.length} runs, ${received} envelopes received before the kill, ready again after ` +
      `${ready.toFixed(0)} ms, ${ends.filter((end) => end === 'completed').length} completed` +
      (PROCESSES > 1 ? `, ${kills} kills` : ''),
  );
}

function checkIntegrity() {
  const file = new Database(database.slice('file:'.length));
  const [{ integrity_check: result }] = file.prepare('pragma integrity_check').all();
  check(result === 'ok', `integrity check: ${result}`);
  console.log(`integrity check: ${result}`);
  file.close();
}

try {
  services = await Promise.all(Array.from({ length: PROCESSES }, start));
  for (let round = 1; round <= ROUNDS && kills < KILLS; round++) await runRound(round);
  for (const fault of await receiver.faultsOf(anyUrl())) failures.push(fault);
  counts.webhooks = receiver.count();
  await Promise.all(services.map((service) => service.end('SIGTERM')));
  if (!postgres) checkIntegrity();
} finally {
  // After a failure too, no process and no file may remain.
  await Promise.all(services.map((service) => service.end('SIGKILL')));
  await postgres?.close();
  receiver.close();
  await rm(directory, { recursive: true });
}
console.log(JSON.stringify(counts));
for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(failures.length === 0 ? 'nothing was lost' : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;
