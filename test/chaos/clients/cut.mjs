/** Clients whose connection is cut: at every byte of the request, and at every byte of the answer. */
import { randomUUID } from 'node:crypto';
import { ask, eventsOf, open } from './connection.mjs';
import { answerWithFiles, formsOf, get, post, query, queryWithFiles } from './requests.mjs';

/** How many connections are cut at the same time. */
const AT_ONCE = 32;

/** Calls a function for each number from 0 up to `count`, for some of them at the same time. */
export async function forEach(count, atOnce, action) {
  let next = 0;
  const work = async () => {
    while (next < count) await action(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

export function messagesOf(bytes) {
  return eventsOf(bytes).flatMap(({ data }) => {
    const { type, data: content } = JSON.parse(data);
    return type === 'message' ? [content.content] : [];
  });
}

/**
 * Cuts each form of a query at its bytes. No such query may become a run. The whole query then becomes one run, although it has
 * the idempotency key of those that were cut.
 */
export async function requestsCut({ service, check, every, random, expectRuns }) {
  let cuts = 0;
  for (const [form, requestWith] of Object.entries(formsOf(queryWithFiles('echo cut')))) {
    const request = requestWith({ 'Idempotency-Key': randomUUID() });
    const parity = random.below(2);
    await forEach(Math.ceil(request.length / every), AT_ONCE, async (n) => {
      const connection = await open(service.port);
      const length = n * every;
      connection.send(request.subarray(0, length));
      await connection.cut((length + parity) % 2 === 0);
      cuts++;
    });
    expectRuns(1);
    const answer = messagesOf(await ask(service.port, request));
    check(
      answer.join() === answerWithFiles('cut').join(),
      `${form}: the whole query was answered with ${answer}`,
    );
  }
  return { cuts };
}

/**
 * Cuts answers at their bytes and resumes them as `docs/http.md` tells clients to: what was received before and after the cut
 * must be the whole log.
 */
export async function answersCut({ service, check, every, random, expectRuns }) {
  const { port } = service;
  const whole = await ask(port, post(query('burst 6')));
  expectRuns(1);
  const parity = random.below(2);
  let [cuts, resumed] = [0, 0];
  await forEach(Math.ceil(whole.length / every), AT_ONCE, async (n) => {
    const length = n * every;
    const request = (headers) => post(query('burst 6'), { 'Idempotency-Key': `cut-${length}`, ...headers });
    const connection = await open(port);
    expectRuns(1);
    await connection.send(request()).until((text) => text.length >= length);
    await connection.cut((length + parity) % 2 === 0);
    const first = eventsOf(connection.bytes.subarray(0, length));
    cuts++;

    const last = first.at(-1)?.id;
    if (last !== undefined) resumed++;
    const isGet = random.below(2) === 1 && last !== undefined;
    const cursor = { 'Last-Event-ID': last };
    const rest = await ask(port, isGet ? get(`/query/${last.split('.')[0]}`, cursor) : request(cursor));
    const joined = [...first, ...eventsOf(rest)];
    const runId = joined[0]?.id.split('.')[0];
    const log = eventsOf(await ask(port, get(`/query/${runId}`)));
    const isWhole = JSON.stringify(joined) === JSON.stringify(log) && isDone(log.at(-1));
    check(isWhole, `cut after ${length} bytes: ${JSON.stringify(joined)} instead of ${JSON.stringify(log)}`);
  });
  check(resumed > 0, 'no answer was resumed at an event');
  return { cuts, resumed };
}

function isDone(event) {
  return event !== undefined && JSON.parse(event.data).type === 'done';
}
