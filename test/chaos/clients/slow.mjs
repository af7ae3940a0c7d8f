/** Clients that send or read one byte at a time, and clients that do not send or do not read. */
import { setTimeout as delay } from 'node:timers/promises';
import { forEach, messagesOf } from './cut.mjs';
import { ask, eventsOf, isComplete, open } from './connection.mjs';
import { answerWithFiles, formsOf, post, query, queryWithFiles } from './requests.mjs';

/** How long clients stay that do not send or do not read. */
const STAY_MS = 1_000;

/**
 * How many envelopes of 64 KiB a large answer has: more than the system takes for a connection that is not read, which is up to
 * 36 MiB on Linux (`tcp_rmem` and `tcp_wmem`). With less, the run may end although nobody reads.
 */
const LARGE = 700;

/** Sends each form of a query one byte at a time, several at once. */
export async function sentByteByByte({ service, check, clients, expectRuns }) {
  const forms = Object.entries(formsOf(queryWithFiles('echo slowly')));
  await forEach(clients, clients, async (n) => {
    const [form, requestWith] = forms[n % forms.length];
    expectRuns(1);
    const connection = await open(service.port);
    await connection.sendByteByByte(requestWith({}));
    await connection.until(isComplete);
    const answer = messagesOf(connection.bytes);
    check(
      answer.join() === answerWithFiles('slowly').join(),
      `${form}, by bytes: answered with ${JSON.stringify(connection.text.slice(0, 600))}`,
    );
    await connection.cut(false);
  });
  return { clients };
}

/** Reads answers one byte at a time, several at once. */
export async function readByteByByte({ service, check, clients, expectRuns }) {
  await forEach(clients, clients, async () => {
    expectRuns(1);
    const events = eventsOf(await ask(service.port, post(query('burst 5')), { slowly: true }));
    const types = events.map(({ data }) => JSON.parse(data).type);
    check(types.length === 6 && types.at(-1) === 'done', `read by bytes: ${types}`);
  });
  return { clients };
}

/** Clients that do not read: an answer that is large, and one that does not end. Both take a bounded amount of memory. */
export async function neverReading({ service, check, clients, expectRuns }) {
  const before = await service.report(true);
  const large = post(query(`large ${LARGE}`), { Connection: 'close' });
  const connections = [];
  await forEach(clients, 100, async (n) => {
    const connection = await open(service.port, { deaf: true });
    connections[n] = connection.send(n % 2 ? post(query('endless')) : large);
  });
  expectRuns(clients);
  const { running } = await service.until(({ followers }) => followers >= clients);
  check(running >= clients, `${running} runs for ${clients} clients that do not read`);
  await delay(STAY_MS);
  const { memory } = await service.report(true);

  // Who begins to read gets the whole answer.
  const [late, ...others] = connections;
  late.socket.resume();
  await late.closed;
  const { length } = eventsOf(late.bytes);
  check(length === LARGE + 1, `a client that reads late got ${length} of ${LARGE + 1} envelopes`);
  await Promise.all(others.map((connection, n) => connection.cut(n % 2 === 0)));
  return { clients, 'MB held': Math.round((memory.rss - before.memory.rss) / 1e6) };
}

/** Clients that never send, or send a part of the head or of the body. The last ones are answered with 408. */
export async function neverSending({ service, check, clients }) {
  const request = post(queryWithFiles('echo never'));
  const head = request.indexOf('\r\n\r\n') + 4;
  const connections = [];
  await forEach(clients, 100, async (n) => {
    const connection = await open(service.port);
    const length = [0, head >> 1, head, (head + request.length) >> 1][n % 4];
    connections.push({ connection: connection.send(request.subarray(0, length)), isBody: length >= head });
  });
  const late = connections.filter(({ isBody }) => isBody).map(({ connection }) => connection);
  const answers = await Promise.all(late.map((connection) => connection.until(isComplete)));
  const refused = answers.filter((text) => text.startsWith('HTTP/1.1 408 ') && text.includes('body_timeout'));
  check(
    refused.length === late.length,
    `${late.length - refused.length} bodies that stall are not answered with 408`,
  );
  await Promise.all(connections.map(({ connection }, n) => connection.cut(n % 2 === 0)));
  return { clients, refused: refused.length };
}

/** Clients that send half a head, all at once. Queries are answered meanwhile, and each of these connections is closed in time. */
export async function halfOpen({ service, check, clients, expectRuns }) {
  const head = post(query('echo half')).subarray(0, 60);
  const connections = [];
  await forEach(clients, 200, async (n) => {
    connections[n] = (await open(service.port)).send(head);
  });
  const stillOpen = connections.filter(({ socket }) => !socket.destroyed).length;
  const began = performance.now();
  expectRuns(1);
  const answer = messagesOf(await ask(service.port, post(query('echo whole'))));
  const ms = performance.now() - began;
  check(answer.join() === 'whole', `a query beside half-open connections was answered with ${answer}`);
  await Promise.all(connections.map(({ closed }) => closed));
  return { clients, 'open at the query': stillOpen, 'query ms': Math.round(ms) };
}
