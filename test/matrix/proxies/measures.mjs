/**
 * What a proxy does with streams and bodies. Each function gives one of the words that `words.ts` explains; a proxy has many
 * times, and a busy machine adds to them, so a word stands for a range that is far from the next one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Exchange } from './exchange.mjs';

const JSON_TYPE = { 'content-type': 'application/json' };
const MB = 1_000_000;
const MIB = 1024 * 1024;

/** The file of a query with which bodies are measured, as base64. */
const BODY = 30 * MB;

/** How long a stream is silent, and what is written for a proxy that did not cut it. */
export const IDLE_LIMIT_S = 65;

/** The time between keep-alives while it is measured when the service learns that a client has left. */
export const KEEP_ALIVE_MS = 3_000;

/** A query for the agent of this folder. */
const query = (kwargs) => JSON.stringify({ parts: [{ type: 'text', text: 'Hello!' }], kwargs });

/** When the first event comes, and the others: HAProxy sends the first one at once, and the others late. */
export async function firstEvent(target, label) {
  const arrivals = [];
  const count = 9;
  const exchange = new Exchange(target, { headers: JSON_TYPE }, query({ label, count, everyMs: 300 }));
  const madeAt = () => [...exchange.text.matchAll(/"atMs":(\d+)/g)].map(([, at]) => Number(at));
  await exchange.until(() => {
    while (arrivals.length < madeAt().length) arrivals.push(Date.now());
    return false;
  }, 30_000);
  const made = madeAt();
  if (made.length < count) fail(label, `${made.length} of ${count} events came`, exchange);
  if (arrivals[0] >= made.at(-1)) return 'only at the end';
  const latenesses = made.map((at, index) => arrivals[index] - at).sort((a, b) => a - b);
  return latenesses[Math.floor(count / 2)] > 120 ? 'late' : 'at once';
}

/** After how many seconds a stream is cut in which nothing comes, also no keep-alive. The service must not send any. */
export async function idleCut(target, label) {
  const everyMs = (IDLE_LIMIT_S + 2) * 1000;
  const exchange = new Exchange(target, { headers: JSON_TYPE }, query({ label, count: 2, everyMs }));
  await exchange.ended(everyMs + 20_000);
  if (exchange.text.includes('"type":"done"')) return `> ${IDLE_LIMIT_S} s`;
  if (exchange.end === undefined) fail(label, 'a silent stream did not end', exchange);
  return `${Math.round(exchange.endedAfter / 5000) * 5} s`;
}

/** Whether the backend has the beginning of a body before its end is sent. `arrivals` has what the backend got, by label. */
export async function largeBody(target, label, arrivals) {
  let isEarly = false;
  const has = () => arrivals.get(label)?.received > 0;
  const pieces = async function* () {
    yield Buffer.alloc(MB, 'A');
    for (let waited = 0; waited < 1500 && !has(); waited += 10) await pause(10);
    isEarly = has();
    yield* atPace(BODY - MB);
  };
  const exchange = await sendBody(target, label, BODY, pieces());
  const { received } = arrivals.get(label) ?? {};
  if (exchange.head?.status === 200 && received === BODY) return isEarly ? 'passes' : 'collected';
  if (exchange.head?.status === 413 && received === undefined)
    return `refused over ${await limitOf(target, label)}`;
  fail(label, `of ${BODY} bytes ${received} arrived`, exchange);
}

/** The largest power of two that passes. */
async function limitOf(target, label) {
  for (let size = 16 * MIB; size >= MIB / 4; size /= 2) {
    const { head } = await sendBody(target, `${label}, ${size} bytes`, size, atPace(size));
    if (head?.status === 200) return size >= MIB ? `${size / MIB} MiB` : `${size / 1024} KiB`;
  }
  return '0 bytes';
}

async function sendBody(target, label, size, pieces) {
  const headers = { 'content-type': 'application/octet-stream', 'content-length': size, label };
  const exchange = new Exchange(target, { headers }, pieces);
  await exchange.ended(60_000);
  exchange.leave();
  return exchange;
}

/** Bytes at about 20 MB per second: what is faster meets the buffers of the kernel only. */
async function* atPace(size) {
  const piece = Buffer.alloc(256 * 1024, 'A');
  for (let rest = size; rest > 0; rest -= piece.length) {
    yield piece.subarray(0, Math.min(rest, piece.length));
    await pause(12);
  }
}

/** When the refusal of the service arrives, which comes after 8 MiB of a file of 30 MB. */
export async function earlyRefusal(target, label, isHttp2 = false) {
  const begin = '{"parts":[{"type":"file","name":"a.bin","mimeType":"application/octet-stream","base64":"';
  const end = '"}]}';
  const pieces = async function* () {
    yield Buffer.from(begin);
    yield* atPace(BODY);
    yield Buffer.from(end);
  };
  const size = begin.length + BODY + end.length;
  const headers = { ...JSON_TYPE, 'content-length': size };
  const exchange = new Exchange(target, { headers, isHttp2 }, pieces());
  await exchange.until(() => exchange.head, 60_000);
  const { sent } = exchange;
  await exchange.until(() => exchange.text.includes('"limit_exceeded"'), 10_000);
  exchange.leave();
  if (isHttp2 && !exchange.isHttp2) fail(label, 'it does not speak HTTP/2', exchange);
  if (exchange.text.includes('"limit_exceeded"')) return sent < size ? 'early' : 'after the body';
  return exchange.head?.status === 413 ? 'its own' : 'lost';
}

/** When the service learns that a client has left. It must have `DISCONNECT=cancel`, and keep-alives of `KEEP_ALIVE_MS`. */
export async function leavingClient(target, label, service) {
  const exchange = new Exchange(target, { headers: JSON_TYPE }, query({ label, count: 2, everyMs: 100_000 }));
  await begun(service, label, exchange);
  exchange.leave();
  const left = performance.now();
  const aborted = new RegExp(`^aborted ${label}\\.$`, 'm');
  if (!(await service.prints(aborted, 6 * KEEP_ALIVE_MS))) return 'never';
  return performance.now() - left < KEEP_ALIVE_MS / 3 ? 'at once' : 'with keep-alives';
}

/** Begins an answer whose service is killed in its middle. */
export async function beginAnswer(target, label, service) {
  const exchange = new Exchange(target, { headers: JSON_TYPE }, query({ label, count: 2, everyMs: 100_000 }));
  await begun(service, label, exchange);
  return exchange;
}

/** What the caller sees of the end of such an answer. */
export async function endOf(exchange) {
  await exchange.ended(20_000);
  exchange.leave();
  return { complete: 'a clean end', cut: 'a cut' }[exchange.end] ?? 'no end';
}

/** Waits until the agent has begun, and its first event has come, unless a proxy holds it back. */
async function begun(service, label, exchange) {
  if (!(await service.prints(new RegExp(`^begun ${label}\\.$`, 'm'), 20_000)))
    fail(label, 'the query did not reach the service', exchange);
  await exchange.until(() => exchange.text.includes('"made"'), 2_000);
}

/** Whether the header of a key arrives. The other one, `X-API-Key`, must arrive in any case. The backend says what it got. */
export async function credential(target, label) {
  const headers = { authorization: 'Bearer one', 'x-api-key': 'two', label };
  const exchange = new Exchange(target, { method: 'GET', path: `/${label}`, headers });
  await exchange.ended(10_000);
  const words = { 'Bearer one, two': 'arrives', 'none, two': 'removed' };
  return words[exchange.text] ?? fail(label, 'a credential does not arrive', exchange);
}

/** Waits until the service answers through a proxy: some proxies do not try one again for seconds that was away. */
export async function untilAnswered(target, label) {
  for (let attempt = 0; attempt < 200; attempt++) {
    // A path of its own: a proxy may keep answers.
    const exchange = new Exchange(target, { method: 'GET', path: `/unknown-${label}-${attempt}` });
    await exchange.ended(10_000);
    exchange.leave();
    if (exchange.head?.status < 500) return;
    await pause(200);
  }
  throw new Error(`${label}: the service does not answer through it.`);
}

function fail(label, what, { head, end, text }) {
  const came = `status ${head?.status}, ${end ?? 'open'}, ${JSON.stringify(text.slice(0, 200))}`;
  throw new Error(`${label}: ${what}: ${came}`);
}
