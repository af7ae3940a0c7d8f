import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Caller, isDone } from './caller.mjs';

/** How long the service may take to be ready again after a fault has ended, in milliseconds. */
const READY_MS = 10_000;

/** Larger than what the service keeps in memory, so that it is in the spool and in the store of files. */
const LARGE = Buffer.from('A file that is larger than what the service keeps in memory. '.repeat(2_000));
const FILE = { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: LARGE.toString('base64') };
const FILE_TEXT = `file ${createHash('sha256').update(LARGE).digest('hex')} ${LARGE.length}`;

/** How many messages a run has that is not cancelled. */
const EVENTS = 3;

/**
 * Uses all of the endpoint at the same time: queries with and without a session and a file, another follower, a retry, a
 * cancel and an erasure.
 *
 * @param name a part of the names of the sessions and keys, different for each workload
 * @param check called with a condition that must hold, and with what is wrong if it does not
 * @returns the runs that were admitted, each with what its caller has received
 */
export async function work(service, name, check) {
  const caller = new Caller(service.url, check);
  const runs = [];
  const ask = async (query, onEvent) => {
    const run = await caller.ask({ kwargs: { events: EVENTS }, ...query }, onEvent);
    runs.push(run);
    return run;
  };
  const inSession = (id) => ({ session_id: `${name} ${id}`, events: EVENTS });

  const alone = async () => {
    let followed;
    const run = await ask({ text: 'alone' }, ({ id }) => void (followed ??= caller.follow(id)));
    check(
      `${await followed}` === `${run.received}`,
      `two followers of ${run.id} have received different logs`,
    );
  };
  const conversation = () =>
    Promise.all([
      ask({ text: 'first', kwargs: inSession('talk') }),
      ask({ text: 'second', parts: [FILE], kwargs: inSession('talk') }),
    ]);
  const retried = async () => {
    const query = { text: 'retried', key: `${name} key`, kwargs: inSession('retry') };
    const [once, again] = await Promise.all([ask(query), ask(query)]);
    check(once.id === again.id, `the key of ${once.id} has started ${again.id} too`);
  };
  const cancelled = () =>
    ask({ text: 'cancelled', kwargs: { events: 10_000 } }, async (run) => {
      if (run.received.length !== 1) return;
      const { status } = await caller.send(`/${run.id}`, { method: 'DELETE' });
      check([200, 202].includes(status), `the cancel of ${run.id} answers ${status}`);
    });
  const erased = async () => {
    const run = await caller.ask({ text: 'erased', parts: [FILE], kwargs: inSession('erased') });
    const path = `/sessions/${encodeURIComponent(`${name} erased`)}`;
    const { status } = await caller.send(path, { method: 'DELETE' });
    // The first attempt may have erased it, although its answer was lost.
    check([204, 404].includes(status), `the erasure of ${path} answers ${status}`);
    const { status: after } = await caller.send(`/${run.id}`);
    check(after === 404, `the erased run ${run.id} answers ${after}`);
  };

  await settled([alone(), conversation(), retried(), cancelled(), erased()], check);
  return runs;
}

/** Waits until the service is ready. Returns how long that took, in milliseconds. */
export async function untilReady(service, check) {
  const began = performance.now();
  for (;;) {
    const ready = await fetch(`${service.base}/health/ready`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(READY_MS),
    })
      .then(async (response) => [response.status, await response.text()])
      .catch((error) => [0, error.message]);
    const ms = performance.now() - began;
    if (ready[0] === 200) return ms;
    if (ms > READY_MS) {
      check(false, `the service is not ready after ${READY_MS} ms: ${ready.join(' ')}`);
      return ms;
    }
    await delay(20);
  }
}

/** Checks that the logs of runs have what their callers have received, and that their sessions continue. */
export async function verify(service, runs, check) {
  const caller = new Caller(service.url, check);
  await settled(
    runs.map((run) => verifyLog(caller, run, check)),
    check,
  );
  const sessions = [...new Set(runs.map(({ kwargs }) => kwargs.session_id).filter(Boolean))];
  await settled(
    sessions.map((id) => verifySession(caller, id, runs, check)),
    check,
  );
}

/** Waits for all, also after one has failed. */
async function settled(works, check) {
  for (const { reason } of await Promise.allSettled(works))
    if (reason) check(false, [reason.message, reason.cause?.message].filter(Boolean).join(': '));
}

async function verifyLog(caller, run, check) {
  const log = await caller.follow(run.id);
  check(log.join('\n') === run.received.join('\n'), `the log of ${run.id} is not what its caller received`);
  check(log.filter(isDone).length === 1, `the log of ${run.id} has not one done`);
  const { status, error } = JSON.parse(log.at(-1)).data;
  const expected = run.text === 'cancelled' ? 'cancelled' : 'completed';
  check(status === expected, `the run ${run.text} ${run.id} ended as ${status} ${JSON.stringify(error)}`);
  const messages = log.map((data) => JSON.parse(data)).filter(({ type }) => type === 'message');
  const contents = messages.map(({ data }) => data.content);
  const counted = contents
    .filter((content) => content !== FILE_TEXT)
    .map((content) => content.split(' ').at(-1));
  check(
    counted.every((number, i) => number === `${i + 1}`),
    `the messages of ${run.id} are ${counted}`,
  );
  if (status !== 'completed') return;
  check(counted.length === EVENTS, `the run ${run.id} has ${counted.length} messages`);
  check(contents.includes(FILE_TEXT) === (run.text === 'second'), `the file of ${run.id} is missing`);
}

async function verifySession(caller, id, runs, check) {
  const again = await caller.ask({ text: 'again', kwargs: { session_id: id, events: 1 } });
  const { status } = JSON.parse(again.received.at(-1)).data;
  check(status === 'completed', `the session ${id} answers another query with ${status}`);
  const response = await caller.send(`/sessions/${encodeURIComponent(id)}`);
  const { turns } = await response.json();
  const asked = new Set(runs.filter(({ kwargs }) => kwargs.session_id === id).map((run) => run.id));
  const kept = turns.map(({ runId }) => runId);
  for (const runId of asked) check(kept.includes(runId), `the session ${id} has no turn of ${runId}`);
  check(new Set(kept).size === kept.length, `the session ${id} has a turn twice`);
  const isOthers = turns.some(({ runId, parts }) => !asked.has(runId) && parts[0].text !== 'again');
  check(!isOthers, `the session ${id} has a turn of a query that was refused`);
}
