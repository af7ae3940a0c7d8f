/**
 * Hostile and unlucky clients against the service:
 *
 *     npm run build && node test/chaos/clients.mjs [--adapter fastify|express] [--clients 10000] [--every 1] [--seed 1] [--only crowd]
 *
 * `--clients` is the number of clients at once in the stage with the most; `--every 10` cuts connections at every tenth byte
 * only; `--only` names one stage. All the while ordinary queries are sent, and must be answered correctly. After each stage the service must come to rest:
 * no run, descriptor or spool file is left, each whole query has become one run, and no other has. The exit code is 1 if a check
 * fails. Needs Linux.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ask } from './clients/connection.mjs';
import { crowd } from './clients/crowd.mjs';
import { answersCut, messagesOf, requestsCut } from './clients/cut.mjs';
import { badFraming, bytesAfterGzip, pipelined, sendingAfterTheAnswer } from './clients/malformed.mjs';
import { answerWithFiles, MEMORY_BYTES, post, queryWithFiles } from './clients/requests.mjs';
import { halfOpen, neverReading, neverSending, readByteByByte, sentByteByByte } from './clients/slow.mjs';
import { ObservedService } from './observed-service.mjs';
import { randomFrom } from '../support/random.mjs';

const { values } = parseArgs({
  options: {
    adapter: { type: 'string', default: 'fastify' },
    clients: { type: 'string', default: '10000' },
    every: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
});
const CLIENTS = Number(values.clients);
/** Ordinary queries that are under way at any time. */
const ORDINARY = 2;
const PAUSE_MS = 20;
/** So many objects of a class may be left, because Node and the adapters keep what they used last. */
const LAST_USED = 2;

/** The stages, each with its number of clients. */
const STAGES = [
  [requestsCut],
  [answersCut],
  [sentByteByByte, Math.min(CLIENTS, 16)],
  [readByteByByte, Math.min(CLIENTS, 16)],
  [neverReading, Math.ceil(CLIENTS / 50)],
  [neverSending, Math.ceil(CLIENTS / 10)],
  [halfOpen, CLIENTS],
  [badFraming],
  [bytesAfterGzip],
  [sendingAfterTheAnswer],
  [pipelined, Math.min(CLIENTS, 16)],
  [crowd, CLIENTS],
];

const OPTIONS = {
  limits: { memoryBytes: MEMORY_BYTES, idleMs: 1_000 },
  runs: { disconnect: { graceMs: 1_000 } },
};
/** The memory of the store is limited, so that what it keeps is not mistaken for a leak. */
const RETENTION = { totalLength: 4 * 1024 * 1024 };

const failures = [];
const check = (condition, what) => {
  if (!condition) failures.push(what);
};
/** Runs that the queries must have become. */
let expectedRuns = 0;
const expectRuns = (count) => (expectedRuns += count);
const counts = { ordinary: 0, runs: 0 };

/** Sends ordinary queries, one after another, until the stage is over. */
async function askOrdinarily(service, isOver) {
  while (!isOver()) {
    const text = `ordinary ${++counts.ordinary}`;
    expectRuns(1);
    const answer = messagesOf(await ask(service.port, post(queryWithFiles(`echo ${text}`))));
    check(answer.join() === answerWithFiles(text).join(), `${text} was answered with ${answer}`);
    await delay(PAUSE_MS);
  }
}

async function runStage(service, [stage, clients], idle) {
  const began = performance.now();
  let isOver = false;
  const ordinary = Array.from({ length: ORDINARY }, () => askOrdinarily(service, () => isOver));
  const context = { service, check, clients, every: Number(values.every), random, expectRuns };
  const figures = await stage(context).finally(() => (isOver = true));
  await Promise.all(ordinary);
  await checkRest(service, stage.name, idle);
  const { memory } = await service.report(true);
  console.log(
    `${stage.name}: ${JSON.stringify(figures)}, ${((performance.now() - began) / 1000).toFixed(1)} s, at rest again: ` +
      `resident ${MB(memory.rss)} MB, heap ${MB(memory.heapUsed)} MB`,
  );
  return memory;
}

/** Checks that nothing of a stage is left, and that another query is answered. */
async function checkRest(service, stage, idle) {
  const rest = await service.until((open) => JSON.stringify(open) === JSON.stringify(idle));
  check(JSON.stringify(rest) === JSON.stringify(idle), `${stage}: ${JSON.stringify(rest)} is left`);
  const { counts: seen } = await service.report();
  check(seen.admitted === expectedRuns, `${stage}: ${seen.admitted} runs for ${expectedRuns} whole queries`);
  check(seen.ended === seen.admitted, `${stage}: ${seen.ended} of ${seen.admitted} runs have ended`);
  check(service.isAlive, `${stage}: the service has ended`);
  expectedRuns = seen.admitted;
  for (const line of service.lines.splice(0)) check(false, `${stage}: the service printed: ${line}`);
  let asked = 0;
  await askOrdinarily(service, () => asked++ > 0);
}

const MB = (bytes) => (bytes / 1e6).toFixed(1);

const random = randomFrom(Number(values.seed));
const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-clients-'));
await mkdir(join(directory, 'spool'));
let service;
try {
  const settings = {
    adapter: values.adapter,
    database: 'memory:',
    retention: RETENTION,
    options: OPTIONS,
    // Long enough for all connections to be open at the same time.
    headMs: Math.max(1_000, CLIENTS),
  };
  service = await ObservedService.start(settings, join(directory, 'spool'));
  let warm = 0;
  await askOrdinarily(service, () => warm++ > 20);
  const idle = await service.until(({ unended, followers }) => unended + followers === 0);
  const { memory } = await service.report(true);
  console.log(`idle: ${JSON.stringify(idle)}, resident ${MB(memory.rss)} MB, heap ${MB(memory.heapUsed)} MB`);
  const stages = STAGES.filter(([stage]) => [undefined, stage.name].includes(values.only));
  for (const stage of stages) await runStage(service, stage, idle);
  const objects = await service.objects('Runner', 'SseResponse');
  const isLeft = Math.max(...Object.values(objects)) > LAST_USED;
  check(!isLeft, `objects are left: ${JSON.stringify(objects)}`);
  counts.runs = expectedRuns;
  await service.close();
} catch (error) {
  check(false, error.stack);
} finally {
  service?.child.kill('SIGKILL');
  await rm(directory, { recursive: true });
}
console.log(JSON.stringify(counts));
for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(failures.length === 0 ? 'all clients were answered or refused' : `${failures.length} failures`);
// After a failure, connections may be open.
process.exit(failures.length === 0 ? 0 : 1);
