/**
 * Damages rows of the database while the service is down, starts it again, and checks that the other runs go on:
 *
 *     npm run build && node test/chaos/damaged-rows.mjs [--postgres] [--rounds 20] [--runs 60] [--seed 1]
 *
 * Each round kills the service while it streams runs, cuts values of some of their rows, and starts it again: on Postgres two
 * processes. The seed chooses the values. The service must start. Each run must end, those without damage with the envelopes
 * that their callers have received. Each session and the list of runs must answer, and so must a new query. The exit code is 1
 * if a check fails.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sql } from 'kysely';
import { LibsqlDriver, PostgresDriver } from '../../dist/internals.js';
import { randomFrom } from '../support/random.mjs';
import { eventsOf, isDone } from './caller.mjs';
import { Service } from './service.mjs';

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '20' },
    runs: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
});
const random = randomFrom(Number(values.seed));
const RUNS_PER_SESSION = 4;
const BOUND_MS = 15_000;
/** The columns with JSON, and the one that has the run. Most damage is to runs that have not ended. */
const COLUMNS = [
  ...['owner', 'parts', 'kwargs', 'session', 'outcome', 'trace'].map((column) => ['runs', column, 'id']),
  ['log', 'envelopes', 'run_id'],
  ['turns', 'turn', 'run_id'],
  ['texts', 'text', 'run_id'],
];
/** How many values are damaged in each round. */
const DAMAGES = 8;

const failures = [];
const check = (condition, what) => {
  if (!condition) failures.push(what);
};

const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-damaged-'));
const server = values.postgres ? await startServer() : undefined;
const url = server?.url ?? `file:${join(directory, 'runs.db')}`;

async function startServer() {
  register('../support/typescript-hooks.mjs', import.meta.url);
  const { startPostgres } = await import('../support/postgres.ts');
  return startPostgres(['fsync = off']);
}

/** Cuts some values. Returns the runs that they belong to. */
async function damage() {
  const driver = server
    ? await PostgresDriver.open(new URL(url))
    : await LibsqlDriver.open(join(directory, 'runs.db'));
  const damaged = await driver.transact(async (db) => {
    if (server) await sql`set local search_path to agent_query`.execute(db);
    return damageIn(db);
  });
  await driver.close();
  return damaged;
}

async function damageIn(db) {
  const damaged = new Set();
  for (let i = 0; i < DAMAGES; i++) {
    const [table, column, id] = random.pick(COLUMNS);
    const unended = `${id} in (select id from runs where ended_at is null)`;
    const found = `select ${id} as id from ${table} where length(${column}) > 1 order by ${unended} desc, ${id}`;
    const { rows } = await sql.raw(found).execute(db);
    if (rows.length === 0) continue;
    const run = rows[random.below(Math.ceil(rows.length / 2))].id;
    const half = `substr(${column}, 1, length(${column}) / 2)`;
    await sql.raw(`update ${table} set ${column} = ${half} where ${id} = '${run}'`).execute(db);
    damaged.add(run);
  }
  return damaged;
}

/** Sends a query, and reads its stream until it ends or is cut. */
async function ask(service, text, sessionId, onReceived = () => undefined) {
  const run = { id: undefined, sessionId, received: [] };
  try {
    const response = await fetch(service.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({
        parts: [{ type: 'text', text }],
        kwargs: sessionId ? { session_id: sessionId, events: 5 } : {},
      }),
      signal: AbortSignal.timeout(BOUND_MS),
    });
    run.id = response.headers.get('content-location')?.split('/').at(-1);
    for await (const { data } of eventsOf(response)) {
      run.received.push(data);
      onReceived();
    }
  } catch {
    // The service was killed.
  }
  return run;
}

async function answer(service, path, accept = 'application/json') {
  const headers = { accept, connection: 'close' };
  const response = await fetch(`${service.url}${path}`, { headers, signal: AbortSignal.timeout(BOUND_MS) });
  check(response.status < 500, `${path} answers ${response.status}: ${service.log.slice(-2_000)}`);
  return response;
}

/** Checks that a run ends, and that it has what its caller has received. */
async function verify(service, run, isDamaged) {
  const deadline = Date.now() + BOUND_MS;
  for (;;) {
    const response = await answer(service, `/${run.id}`);
    const { status } = await response.json();
    // The owner of a damaged run may be unknown: then nobody may read it.
    if (isDamaged && response.status === 404) return;
    if (!['waiting', 'running'].includes(status)) break;
    if (Date.now() > deadline) return check(false, `the run ${run.id} does not end: it is ${status}`);
    await delay(50);
  }
  if (isDamaged) return;
  const log = [];
  for await (const { data } of eventsOf(await answer(service, `/${run.id}?after=0`, 'text/event-stream')))
    log.push(data);
  check(log.filter(isDone).length === 1, `the run ${run.id} has not one done`);
  const isKept = run.received.every((data, index) => log[index] === data);
  check(isKept, `the log of ${run.id} is not what its caller has received`);
}

async function runRound(round) {
  let service = await Service.start(url);
  const session = (i) => (i % 2 ? `s${round}.${Math.floor(i / (2 * RUNS_PER_SESSION))}` : undefined);
  let received = 0;
  const enough = new Promise((resolve) => (service.enough = resolve));
  const onReceived = () => ++received === Number(values.runs) && service.enough();
  const asking = Array.from({ length: Number(values.runs) }, (_, i) =>
    ask(service, `${'long text '.repeat(i % 7 ? 1 : 3_000)}${i}`, session(i), onReceived),
  );
  await Promise.race([enough, Promise.all(asking)]);
  await service.end('SIGKILL');
  const runs = (await Promise.all(asking)).filter(({ id }) => id !== undefined);
  const damaged = await damage();

  const services = [await Service.start(url)];
  if (server) services.push(await Service.start(url));
  service = services.at(-1);
  await Promise.all(runs.map((run) => verify(service, run, damaged.has(run.id))));
  const sessions = [...new Set(runs.map(({ sessionId }) => sessionId).filter(Boolean))];
  const again = await Promise.all([undefined, ...sessions].map((id) => ask(service, 'again', id)));
  for (const { received: log, sessionId } of again)
    check(isDone(log.at(-1)), `the session ${sessionId} does not answer: ${log.at(-1)}`);
  for (const id of sessions) await answer(service, `/sessions/${id}`);
  for (const path of ['?limit=100', '/sessions?limit=100']) await answer(service, path);
  for (const each of services) await each.end('SIGTERM');
  console.log(`round ${round}: ${runs.length} runs, ${damaged.size} damaged, ${failures.length} failures`);
}

try {
  for (let round = 1; round <= Number(values.rounds); round++) await runRound(round);
} finally {
  await server?.close();
  await rm(directory, { recursive: true });
}
for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(failures.length === 0 ? 'the others went on' : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;
