/**
 * The service that `clients.mjs` and `soak.mjs` watch. They start it with `ObservedService`, which sends the options and
 * asks for a report when it needs one.
 *
 * The first word of the first text decides what the handler does: `echo …` answers with the text and the digests of the files,
 * `burst <n>` with n envelopes, one per tick, `large <n>` with n envelopes of 64 KiB, and `endless` does not stop.
 */
import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate as nextTick } from 'node:timers/promises';
import v8 from 'node:v8';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { sql } from 'kysely';
import { limitConnections } from '../../dist/access/index.js';
import { AgentService, log, message, QueryModule } from '../../dist/index.js';
import { LibsqlDriver, PostgresDriver, Run, Runner, SqlRunStore, SseResponse } from '../../dist/internals.js';
import { openStore } from '../../dist/stores/index.js';

/** The classes whose objects must not outlive what they stand for. */
const WATCHED = { Run, Runner, SseResponse };

const BLOCK = 'x'.repeat(64 * 1024);
/** Characters that take several bytes, and that some parsers take for the end of a line. */
const TEXT = 'Zürich\u2028😀 ';

const counts = { admitted: 0, repeated: 0, ended: 0, handling: 0 };

const ANSWERS = {
  async *echo(words, files) {
    yield message(words.join(' '));
    for (const { file } of files) {
      const bytes = Buffer.from(await file.arrayBuffer());
      yield message(createHash('sha256').update(bytes).digest('hex'));
    }
  },
  async *burst([count]) {
    for (let n = 1; n <= Number(count); n++) {
      yield n % 2 ? message(`${TEXT}${n}`) : log(`${n}`);
      await nextTick();
    }
  },
  async *large([count]) {
    for (let n = 0; n < Number(count); n++) yield message(BLOCK);
  },
  async *endless() {
    for (;;) {
      yield message(BLOCK);
      await nextTick();
    }
  },
};

async function* handler({ parts }) {
  counts.handling++;
  try {
    const [answer, ...words] = parts.find(({ type }) => type === 'text').text.split(' ');
    yield* ANSWERS[answer](
      words,
      parts.filter(({ type }) => type === 'file'),
    );
  } finally {
    counts.handling--;
  }
}

/** Counts what the store admits, finds again by its idempotency key, and ends. */
function counted(store) {
  const { admit, end } = store;
  store.admit = async (admission) => {
    const admitted = await admit.call(store, admission);
    counts[admitted.created ? 'admitted' : 'repeated']++;
    return admitted;
  };
  store.end = async (...run) => {
    const finished = await end.apply(store, run);
    if (finished) counts.ended++;
    return finished;
  };
  return store;
}

/** The database of a store in SQL, which is looked at past the store; undefined for the memory. */
function openDriver(database) {
  if (database.startsWith('postgres:')) return PostgresDriver.open(new URL(database));
  return database.startsWith('file:') ? LibsqlDriver.open(database.slice('file:'.length)) : undefined;
}

/** How many rows each table has, how many characters the turns have, and how many bytes the tables of Postgres take. */
async function stored({ db } = {}) {
  if (!db) return { rows: {}, turnsLength: 0, contentBytes: 0, bytes: 0 };
  const rows = {};
  for (const table of ['runs', 'log', 'sessions', 'turns', 'file_uses', 'contents', 'chunks']) {
    const { count } = await db.selectFrom(table).select(db.fn.countAll().as('count')).executeTakeFirst();
    rows[table] = Number(count);
  }
  const sum = async (table, column) => {
    const { total } = await db.selectFrom(table).select(db.fn.sum(column).as('total')).executeTakeFirst();
    return Number(total ?? 0);
  };
  const size = sql`select sum(pg_total_relation_size(oid)) as bytes from pg_class
    where relnamespace = 'agent_query'::regnamespace and relkind = 'r'`;
  const bytes = isPostgres ? (await size.execute(db)).rows[0].bytes : 0;
  return {
    rows,
    turnsLength: await sum('turns', 'length'),
    contentBytes: await sum('contents', 'size'),
    bytes: Number(bytes),
  };
}

/** What is open, and the memory after garbage collection if that is asked for. */
function report(agent, { collect }) {
  if (collect) global.gc();
  const { rss, heapUsed } = process.memoryUsage();
  return { load: agent.load(), counts, memory: { rss, heapUsed } };
}

/** How many objects of some watched classes there are. Each class takes about a second. */
function objects({ names }) {
  const count = (name) => [name, v8.queryObjects(WATCHED[name], { format: 'count' })];
  return Object.fromEntries(names.map(count));
}

const [{ adapter, database, retention, options, headMs }] = await once(process, 'message');
const isPostgres = database.startsWith('postgres:');
const driver = await openDriver(database);
const store = counted(
  driver ? new SqlRunStore(driver, { retention }) : await openStore(database, { retention }),
);
const app = await NestFactory.create(
  QueryModule.forRoot({ handler, store, ...options }),
  adapter === 'express' ? new ExpressAdapter() : new FastifyAdapter(),
  { logger: ['error', 'warn'], abortOnError: false },
);
const REQUESTS = {
  report: (request) => report(app.get(AgentService), request),
  objects,
  // The memory store drops what is too old when it is asked for something.
  sweep: () => store.sweep?.() ?? void store.find('anonymous', ''),
  vacuum: async () => {
    if (isPostgres) await sql`vacuum`.execute(driver.db);
  },
  stored: () => stored(driver),
  close: () => app.close(),
};
// All clients have one address.
limitConnections(app.getHttpServer(), { perAddress: 100_000, headMs });
await app.listen(0, '127.0.0.1');
const exit = () => process.exit(1);
process.on('message', async (request) => {
  process.send({ id: request.id, answer: await REQUESTS[request.name](request) });
  if (request.name === 'close') {
    process.off('disconnect', exit);
    process.disconnect();
  }
});
// The program that watches it was ended.
process.once('disconnect', exit);
process.send({ port: app.getHttpServer().address().port });
