/**
 * Lets several processes sweep one Postgres at the same time, and checks what is left:
 *
 *     npm run build && node test/chaos/sweeps.mjs [--processes 3] [--rounds 20] [--seed 1]
 *
 * After each round the logs and sessions together must be as long as their limits allow, and at most one row shorter: no
 * process drops what another one has dropped already. The kept length of each session must be that of its turns, also in
 * rounds in which the lease of a process ends while it sweeps. The exit code is 1 if a check fails.
 */
import { register } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openStore } from '../../dist/stores/index.js';
import { randomFrom } from '../support/random.mjs';

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
  },
});
const random = randomFrom(Number(values.seed));

/** The length of the log of a run, and of a turn. */
const LENGTH = 1_000;
const RETENTION = { totalLength: 300 * LENGTH, sessionsLength: 300 * LENGTH };
/** How long a process waits before it sweeps, at most, in milliseconds: as long as some steps of a sweep. */
const DELAY_MS = 40;

register('../support/typescript-hooks.mjs', import.meta.url);
const { startPostgres } = await import('../support/postgres.ts');
const { eventsOf } = await import('../../packages/store-contract/src/opened-store.ts');
const server = await startPostgres(['fsync = off']);
const admin = new pg.Client({ connectionString: server.url });
const stores = [];
const failures = [];
try {
  await admin.connect();
  for (let i = 0; i < Number(values.processes); i++)
    stores.push(await openStore(server.url, { retention: RETENTION }));
  for (const store of stores) await store.open(eventsOf());
  await admin.query('set search_path = agent_query');
  for (let round = 1; round <= Number(values.rounds); round++) await sweepAtOnce(round);
} finally {
  await Promise.all(stores.map((store) => store.close()));
  await admin.end();
  await server.close();
}
for (const failure of failures) console.error(failure);
console.log(
  failures.length === 0 ? 'no more was dropped than exceeds the limits' : `${failures.length} failures`,
);
process.exitCode = failures.length === 0 ? 0 : 1;

async function sweepAtOnce(round) {
  const [runs, turns] = [300 + random.below(500), 10 + random.below(60)];
  await admin.query(
    `insert into runs (id, status, process, created_at, ended_at, log_length)
       select ${round} || ' ' || i, 'completed', '', 0, extract(epoch from now()) * 1000 + i, ${LENGTH}
       from generate_series(1, ${runs}) i`,
  );
  await admin.query(
    `insert into sessions (key, owner, owner_hash, id, queue_positions, turns, length, used_at)
       select ${round} || ' ' || i, '"ann"', 1, '"s"', 0, ${turns}, ${turns * LENGTH}, extract(epoch from now()) * 1000 + i
       from generate_series(1, 30) i`,
  );
  await admin.query(
    `insert into turns (session_key, number, run_id, length, page_length, turn)
       select key, i, key || i, ${LENGTH}, ${LENGTH}, '{}' from sessions, generate_series(1, ${turns}) i
       where key like '${round} %'`,
  );
  // In every second round a process sweeps as if the lease of the others had ended.
  const endsLeases = round % 2 === 0;
  const sweeps = stores.map(async (store) => {
    await delay(random.below(DELAY_MS));
    if (endsLeases) await admin.query('update processes set sweeping = 0');
    await store.sweep();
  });
  await Promise.all(sweeps);
  await check(round, endsLeases);
}

async function check(round, endsLeases) {
  const { rows } = await admin.query(
    `select (select sum(log_length) from runs)::int as logs, (select sum(length) from turns)::int as turns,
       (select count(*) from sessions s where length <>
         coalesce((select sum(length) from turns where session_key = s.key), 0))::int as wrong`,
  );
  const [{ logs, turns, wrong }] = rows;
  if (wrong > 0) failures.push(`${round}: the kept length of ${wrong} sessions is not that of their turns.`);
  const limits = [
    ['logs', logs, RETENTION.totalLength],
    ['turns', turns, RETENTION.sessionsLength],
  ];
  for (const [name, length, limit] of limits) {
    const isKept = endsLeases || length > limit - LENGTH;
    if (length > limit || !isKept)
      failures.push(`${round}: the ${name} have ${length} of ${limit} characters.`);
  }
}
