/**
 * What the sweep of the retention costs the writes at the same time, and how large the database stays.
 *
 *     npm run build && node test/bench/retention.mjs [--runs 300000] [--days 3] [--postgres]
 *
 * Each day fills the database with ended runs, which is done with SQL, because through the store it takes hours: small runs, a
 * quarter of them in sessions of ten turns, a session of 10,000 turns, a log of 50,000 small segments, one of 500 segments of
 * 64 KiB, and contents of files. Then it appends envelopes to a run, one after another, first alone and then during
 * `store.sweep()`. The sweep drops all of the day before, because it is too old, and a part of this day, because it is too long.
 *
 * The columns are milliseconds for one append (`alone` and `swept`), and megabytes after the sweep. The size is to be the same
 * from the second day on, but for the envelopes that this program appends itself: they are of today, and stay. Compare `swept`
 * with `alone`: both contain the disk, and whatever else the machine does. A single longest delay that the next run of this
 * program does not repeat belongs to the machine. The cache of the system holds the whole file here; a machine with less memory
 * reads pages from the disk. Deletes of Postgres leave rows until the next vacuum: its size depends on when autovacuum comes.
 */
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Libsql from 'libsql';
import pg from 'pg';
import { openStore } from '../../dist/stores/index.js';
import { DATABASES } from './databases.mjs';

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '300000' },
    days: { type: 'string', default: '3' },
    postgres: { type: 'boolean', default: false },
  },
});
const RUNS = Number(options.runs);
const DAYS = Number(options.days);
const DAY_MS = 24 * 60 * 60_000;
const HOUR_MS = 60 * 60_000;
const ALONE_MS = 10_000;
const PAUSE_MS = 2;

const LOG_LENGTH = 300;
const TURN_LENGTH = 400;
const LONG_SESSION = 10_000;
/** Logs of a single run: how many segments, and how long each is. */
const LONG_LOGS = { small: [50_000, 100], large: [500, 64 * 1024] };
const CONTENTS = Math.ceil(RUNS / 20);
const CONTENT_BYTES = 1_000;
/** How many turns use a content. */
const USES = 3;
const OWNER = 'anonymous';
const NO_EVENTS = {
  restarts: () => 0,
  lost: () => undefined,
  recovered: () => undefined,
  ready: () => undefined,
};

const dayLength =
  RUNS * LOG_LENGTH + Object.values(LONG_LOGS).reduce((sum, [count, each]) => sum + count * each, 0);
const sessionsLength = (Math.floor(RUNS / 4) + LONG_SESSION) * TURN_LENGTH;

/** Executes SQL without the store. Only one of them has the file at a time. */
function direct(url) {
  if (options.postgres) {
    const client = new pg.Client({ connectionString: url, options: '-c search_path=agent_query' });
    const connected = client.connect();
    const execute = async (sql) => void (await connected, await client.query(sql));
    return { execute, newId: 'md5(random()::text)', close: () => client.end() };
  }
  const database = new Libsql(url.slice('file:'.length));
  const execute = async (sql) => void database.exec(sql);
  return { execute, newId: 'lower(hex(randomblob(16)))', close: async () => database.close() };
}

/** The rows 1 to `count`, as the table `n` with the column `i`. */
const numbers = (count) =>
  'with recursive n(i) as ' + `(select cast(1 as bigint) union all select i + 1 from n where i < ${count})`;
const text = (length) => `'${'x'.repeat(length)}'`;

/** Inserts what a day leaves, which began at `from`, in milliseconds since the epoch. */
async function fill({ execute, newId }, day, from) {
  const at = (count) => `${from} + i * ${DAY_MS / 2} / ${count}`;
  const isOfDay = `ended_at between ${from} and ${from + DAY_MS / 2}`;
  const insertRuns = (count, { id = newId, session = 'null', length = LOG_LENGTH, process = '' }) =>
    execute(
      `insert into runs (id, owner, session_key, session, queue_position, status, created_at, started_at, ended_at,
         outcome, last_seq, log_length, process)
       ${numbers(count)} select ${id}, '"${OWNER}"', ${session}, ${session}, i, 'completed', ${at(count)}, ${at(count)},
         ${at(count)}, '{"status":"completed"}', 2, ${length}, '${process}' from n`,
    );

  await insertRuns(RUNS, { session: `case when i % 4 = 0 then 'day-${day}-' || (i / 40) end` });
  await insertRuns(LONG_SESSION, { session: `'day-${day}-long'` });
  await execute(
    `insert into log select id, 1, 2, 0, ${LOG_LENGTH}, ${text(LOG_LENGTH)} from runs where ${isOfDay}`,
  );
  await execute(
    `insert into turns (session_key, number, run_id, length, page_length, turn)
     select session_key, queue_position, id, ${TURN_LENGTH}, ${TURN_LENGTH}, ${text(TURN_LENGTH)}
     from runs where ${isOfDay} and session_key is not null`,
  );
  await execute(
    `insert into sessions (key, queue_positions, turns, length, used_at)
     select session_key, max(queue_position), max(queue_position), count(*) * ${TURN_LENGTH}, max(ended_at)
     from runs where ${isOfDay} and session_key is not null group by session_key`,
  );
  for (const [name, [count, length]] of Object.entries(LONG_LOGS)) {
    const process = `${name}-${day}`;
    await insertRuns(1, { id: `'log-${process}'`, length: count * length, process });
    await execute(
      `insert into log (run_id, first, last, start_offset, end_offset, envelopes)
       ${numbers(count)} select 'log-${process}', i, i, (i - 1) * ${length}, i * ${length}, ${text(length)} from n`,
    );
  }
  await execute(
    `insert into contents (id, sha256, size, created_at, completed_at, process)
     ${numbers(CONTENTS)} select ${newId}, ${newId}, ${CONTENT_BYTES}, ${at(CONTENTS)}, ${at(CONTENTS)}, '' from n`,
  );
  await execute(
    `insert into file_uses (run_id, sha256)
     ${numbers(USES)} select ${newId}, sha256 from contents cross join n where completed_at between ${from} and ${from + DAY_MS / 2}`,
  );
}

/** Appends until `isOver`. Returns how long each append took. */
async function append(store, runId, isOver) {
  const times = [];
  while (!isOver()) {
    const began = performance.now();
    await store.append(
      { owner: OWNER, id: runId },
      '{"type":"message","data":{"content":"another word or two"}}',
    );
    times.push(performance.now() - began);
    await wait(PAUSE_MS);
  }
  return times.sort((a, b) => a - b);
}

const rounded = (value) => Number(value.toPrecision(3));
const delaysOf = (name, times) => ({
  [`${name} p50`]: rounded(times[times.length >> 1]),
  [`${name} p99`]: rounded(times[Math.floor(times.length * 0.99)]),
  [`${name} max`]: rounded(times.at(-1)),
});

async function megabytes(url) {
  if (!options.postgres) {
    const path = url.slice('file:'.length);
    const sizes = [path, `${path}-wal`].map(async (name) => rounded((await stat(name)).size / 1e6));
    const [file, wal] = await Promise.all(sizes);
    return { file, wal };
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query('select pg_database_size(current_database()) as size');
  await client.end();
  return { file: rounded(Number(rows[0].size) / 1e6) };
}

/** Measures a day, of which the store keeps what is younger than `keptMs` and a part of the rest. */
async function measure(url, keptMs) {
  const store = await openStore(url, {
    retention: {
      runMs: keptMs,
      sessionMs: keptMs,
      fileMs: keptMs,
      totalLength: Math.floor(dayLength * 0.75),
      sessionsLength: Math.floor(sessionsLength * 0.75),
      filesBytes: Math.floor(CONTENTS * CONTENT_BYTES * 0.75),
    },
  });
  await store.open(NO_EVENTS);
  const runId = randomUUID();
  await store.admit({ runId, owner: OWNER, parts: [], kwargs: {}, mayStart: true, notices: () => [] });
  const until = performance.now() + ALONE_MS;
  const alone = await append(store, runId, () => performance.now() > until);

  const began = performance.now();
  let isSwept = false;
  const sweeping = store.sweep().finally(() => (isSwept = true));
  const swept = await append(store, runId, () => isSwept);
  await sweeping;
  const seconds = rounded((performance.now() - began) / 1000);
  const row = {
    ...delaysOf('alone', alone),
    ...delaysOf('swept', swept),
    seconds,
    ...(await megabytes(url)),
  };
  await store.end({ owner: OWNER, id: runId, attempt: 1 }, { status: 'completed' }, '');
  await store.close();
  return row;
}

const { url, close } = await DATABASES[options.postgres ? 'postgres' : 'file']();
await (await openStore(url)).close();
const began = Date.now();
for (let day = 1; day <= DAYS; day++) {
  const age = (DAYS - day) * DAY_MS;
  const database = direct(url);
  await fill(database, day, began - age - DAY_MS / 2 - HOUR_MS);
  await database.close();
  console.table({ [`day ${day}`]: await measure(url, age + DAY_MS) });
}
await close();
