import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../support/free-port.mjs';
import { Exchange } from './exchange.mjs';
import { Service } from './service.mjs';
import { rowOf } from './table.ts';

/** The log of a service that works, but not as it should. A pooler that is slow to start is none. */
const WARNING = /\bWARN\b(?!.*cannot be reached yet)/;

/** How long the pooler is away while an answer goes on. */
const AWAY_MS = 2_000;

/** The longest time that an answer may take when the pooler was away, in which a pooler does not try the server again for 15 s. */
const RECOVERY_MS = 60_000;

/**
 * Measures all cells of poolers, with and without their settings, one after the other.
 *
 * @param poolers some of `POOLERS`
 * @param open keeps what is started
 * @returns the rows, and what could not be measured
 */
export async function measurePoolers(poolers, open) {
  const { startPostgres } = await import('../../support/postgres.ts');
  const server = await open.keep(async () => {
    const postgres = await startPostgres(['max_connections = 200']);
    return { postgres, stop: () => postgres.close() };
  });
  const rows = [];
  const failures = [];
  for (const pooler of poolers) {
    const { name, key, settings } = pooler;
    const cellsWith = (lines, database) => cellsOf(pooler, lines, server.postgres, database, open);
    try {
      const version = pooler.version();
      const plain = await cellsWith([], `${key}-plain`);
      const set = settings.length > 0 ? await cellsWith(settings, `${key}-set`) : undefined;
      rows.push(rowOf(pooler, version, plain, set));
      console.log(`${name}: measured`);
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
    }
  }
  return { rows, failures };
}

async function createDatabase(server, name) {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`create database "${name}"`);
  await client.end();
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function cellsOf(pooler, settings, postgres, name, open) {
  const database = await createDatabase(postgres.url, name);
  const between = await open.keep(async () => {
    const started = await pooler.start(database, settings);
    return { started, stop: () => started.close() };
  });
  const { started } = between;
  const processes = [];
  try {
    while (processes.length < 2) {
      const port = await freePort();
      const start = () => Service.start({ PORT: port, DATABASE_URL: started.url, ...started.variables });
      const service = await open.keep(start).catch((error) => {
        if (!error.hasEnded) throw error;
      });
      if (!service) return { starts: 'no', follower: 'none', restart: 'none', server: 'none' };
      processes.push({ service, url: `http://127.0.0.1:${port}` });
    }
    return {
      starts: processes.some(({ service }) => WARNING.test(service.output)) ? 'with a warning' : 'yes',
      follower: await follower(...processes),
      restart: await restart(started, ...processes),
      server: await restart(postgres, ...processes),
    };
  } finally {
    for (const { service } of processes) await open.stop(service);
    await open.stop(between);
  }
}

/** When events arrive that another process makes. */
async function follower(one, other) {
  const { asked, followed } = await answerOf(one, other, { count: 24, everyMs: 300 });
  const arrivals = [];
  await followed.until(() => {
    while (arrivals.length < events(followed).length) arrivals.push(Date.now());
    return false;
  }, RECOVERY_MS);
  asked.leave();
  const latenesses = events(followed).map(({ atMs }, index) => arrivals[index] - atMs);
  const middle = latenesses.sort((a, b) => a - b)[Math.floor(latenesses.length / 2)];
  return middle < 150 ? 'at once' : 'late';
}

/** What becomes of an answer, at both processes, when the pooler or the server is away in its middle. */
async function restart(program, one, other) {
  const count = 30;
  const { asked, followed } = await answerOf(one, other, { count, everyMs: 200 });
  await followed.until(() => events(followed).length > 3, RECOVERY_MS);
  await program.stop();
  await pause(AWAY_MS);
  await program.start();
  const ends = await Promise.all([asked, followed].map((answer) => answer.ended(RECOVERY_MS)));
  for (const answer of [asked, followed]) answer.leave();
  if (!ends.every(Boolean)) return 'no answer';
  const isWhole = (answer) =>
    answer.text.includes('"status":"completed"') &&
    events(answer).length === count &&
    events(answer).every(({ n }, index) => n === index);
  return isWhole(asked) && isWhole(followed) ? 'nothing lost' : 'events lost';
}

/** A query to one process, and a follower of its answer at the other one. */
async function answerOf(one, other, kwargs) {
  const body = JSON.stringify({
    parts: [{ type: 'text', text: 'Hello!' }],
    kwargs: { label: 'p', ...kwargs },
  });
  const headers = { 'content-type': 'application/json' };
  const asked = new Exchange({ url: one.url }, { headers }, body);
  await asked.until(() => asked.head, 10_000);
  const followed = new Exchange(
    { url: other.url },
    { method: 'GET', path: asked.head.headers['content-location'], headers: { accept: 'text/event-stream' } },
  );
  await followed.until(() => events(followed).length > 0, 10_000);
  return { asked, followed };
}

/** The data of the events that the agent has made, so far. */
function events({ text }) {
  return [...text.matchAll(/"type":"made","data":(\{[^}]*\})/g)].map(([, data]) => JSON.parse(data));
}
