/**
 * Kills the service at each statement of its store, before and after it, starts it again, and compares the webhooks that have
 * arrived with the runs that are kept:
 *
 *     npm run build && node test/chaos/webhooks.mjs [--store file|postgres] [--every 1] [--first 1]
 *
 * The scenario has runs that complete, fail, are cancelled and ask; an endpoint that fails once, one that fails ten times, and
 * one that answers 410, whose webhooks are sent again by hand. The statements are counted from the start of the scenario, and then
 * from the start of a process that finds what a killed one has left. Each event of a run must arrive at least once, with one id and
 * one body, in the order of the run; and nothing else. `--every` leaves statements out. The exit code is 1 if a check fails.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DATABASES } from '../bench/databases.mjs';
import { Service } from './service.mjs';
import { receiveWebhooks } from './webhook-receiver.mjs';

const { values } = parseArgs({
  options: {
    store: { type: 'string', multiple: true, default: ['file', 'postgres'] },
    every: { type: 'string', default: '1' },
    first: { type: 'string', default: '1' },
  },
});
const EVERY = Number(values.every);
/** How long one step of the scenario may take, in milliseconds. */
const STEP_MS = 15_000;
const NODE_OPTIONS = `--import ${join(import.meta.dirname, 'dying.mjs')}`;

const directory = await mkdtemp(join(tmpdir(), 'nest-agent-query-webhooks-'));
const plan = join(directory, 'plan');
const failures = [];

/** A step fails when the service dies. */
async function call(service, path, body, method = 'POST') {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', prefer: 'respond-async', connection: 'close' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(STEP_MS),
  });
  const text = await response.text();
  return { isOk: response.ok, text, id: response.headers.get('location')?.split('/').at(-1) };
}

const ask = (service, name, kwargs = {}, statuses = '') =>
  call(service, '', {
    parts: [{ type: 'text', text: name }],
    kwargs: { events: 1, ...kwargs },
    metadata: { name, statuses },
  });

async function until(service, condition) {
  for (const end = performance.now() + STEP_MS; !(await condition()); await delay(5)) {
    if (!service.isRunning) throw new Error('The service is gone.');
    if (performance.now() > end) throw new Error('A step takes too long.');
  }
}

async function deliveriesOf(service, id) {
  return JSON.parse((await call(service, `/${id}/deliveries`, undefined, 'GET')).text).deliveries;
}

async function sendFailedAgain(service, id) {
  for (const { id: webhook, status } of await deliveriesOf(service, id))
    if (status === 'failed') await call(service, `/${id}/deliveries/${webhook}`);
}

async function scenario(service) {
  const settled = (id, status, count = 1) =>
    until(service, async () => {
      const deliveries = await deliveriesOf(service, id);
      return deliveries.length === count && deliveries.every((each) => each.status === status);
    });
  const answer = (id, question) => {
    const answers = [{ id: question, outcome: 'answered', value: { approved: true } }];
    return until(service, async () => (await call(service, `/${id}/inputs`, { answers })).isOk);
  };
  await settled((await ask(service, 'completed')).id, 'delivered');
  await settled((await ask(service, 'failed', { fails: true })).id, 'delivered');
  const asking = await ask(service, 'asks', { asks: 2 });
  await answer(asking.id, 'q1');
  await answer(asking.id, 'q2');
  await settled(asking.id, 'delivered', 3);
  const cancelled = await ask(service, 'cancelled', { asks: 1, session_id: randomUUID() }, '503');
  await settled(cancelled.id, 'delivered');
  await call(service, `/${cancelled.id}`, undefined, 'DELETE');
  await settled(cancelled.id, 'delivered', 2);
  for (const statuses of ['503 '.repeat(10).trim(), '410']) {
    const dead = await ask(service, 'dead', {}, statuses);
    await settled(dead.id, 'failed');
    await sendFailedAgain(service, dead.id);
    await settled(dead.id, 'delivered');
  }
}

async function execute(store) {
  const database = await DATABASES[store]();
  const receiver = await receiveWebhooks();
  const env = { NODE_OPTIONS, DYING: plan, WEBHOOK_URL: receiver.url, RESTARTS: '1000' };
  const start = () => Service.start(database.url, {}, env);
  let [kills, service] = [0, undefined];
  const arm = (number, when) => writeFileSync(plan, `${number} ${when}`);
  const disarm = () => {
    rmSync(plan, { force: true });
    if (!existsSync(`${plan}.struck`)) return false;
    rmSync(`${plan}.struck`);
    kills++;
    return true;
  };
  /** The process that follows delivers all that is left. */
  const verify = async (name) => {
    const found = await receiver.faultsOf(service.url, (id) => sendFailedAgain(service, id));
    failures.push(...found.map((fault) => `${store}, ${name}: ${fault}`));
    if (service.defects.length > 0) failures.push(`${store}, ${name}: ${service.defects[0]}`);
  };
  /** Returns whether the statement was struck. */
  const tryAt = async (number, when, isStart) => {
    service ??= await start();
    // A process that starts finds what this kill has left: in turn before and after each of the first statements.
    arm(isStart ? 1 + (number % 40) : number, isStart ? 'after' : when);
    const fault = await scenario(service).then(
      () => undefined,
      (error) => error,
    );
    let isStruck = disarm();
    if (fault && !isStruck) failures.push(`${store}, scenario ${number} ${when}: ${fault.stack}`);
    await service.end('SIGKILL');
    if (isStart) {
      arm(number, when);
      service = await start().catch(() => undefined);
      isStruck = disarm();
      await service?.end('SIGKILL');
    }
    service = await start();
    await verify(`${isStart ? 'start' : 'scenario'} ${number} ${when}`);
    return isStruck;
  };
  try {
    for (const isStart of [false, true])
      for (const when of ['before', 'after'])
        for (let number = Number(values.first); await tryAt(number, when, isStart); number += EVERY);
  } finally {
    await service?.end('SIGKILL');
    receiver.close();
    await database.close();
  }
  console.log(`${store}: ${kills} kills, ${receiver.count()} webhooks`);
}

try {
  for (const store of values.store) await execute(store);
} finally {
  await rm(directory, { recursive: true });
}
for (const failure of failures.slice(0, 20)) console.error(failure);
console.log(failures.length === 0 ? 'nothing was lost' : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;
