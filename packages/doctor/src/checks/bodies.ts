import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Caller } from '../caller.js';
import type { Exchange } from '../exchange.js';
import { type Finding, ok, problem, seconds, unknown, warning } from '../finding.js';
import { whatCame, serviceProblem } from '../problem-body.js';

const SMALLEST = 128 * 1024;
const LIMIT_MS = 60_000;
const JSON_TYPE = { 'content-type': 'application/json' };

/** A query with a file, and with a fault at its end: the service reads it all, refuses it, and keeps nothing of it. */
const BEGIN = '{"parts":[{"type":"file","name":"doctor.bin","mimeType":"application/octet-stream","base64":"';
const END = '"},{"type":"text"}]}';
const BLOCK = Buffer.alloc(64 * 1024, 'A');

/** Checks how large a body may be: sends larger and larger ones, up to `largest` bytes. */
export async function checkBodies(caller: Caller, largest: number): Promise<Finding> {
  let passed = 0;
  for (const size of sizesUpTo(largest)) {
    const response = await send(caller, size);
    const refusal = serviceProblem(response);
    if (refusal?.code === 'invalid_query') passed = size;
    else return refusalOf(response, passed, size);
  }
  return ok('bodies', `${bytes(passed)} pass; --body tests larger ones`);
}

function sizesUpTo(largest: number): number[] {
  const sizes: number[] = [];
  for (let size = SMALLEST; size < largest; size *= 2) sizes.push(size);
  return [...sizes, largest];
}

function refusalOf(response: Exchange, passed: number, size: number): Finding {
  const between = passed === 0 ? `of ${bytes(size)}` : `between ${bytes(passed)} and ${bytes(size)}`;
  const refusal = serviceProblem(response);
  if (refusal?.code === 'limit_exceeded')
    return ok('bodies', `the service itself has a limit ${between}: ${refusal.detail}`);
  if (refusal) return unknown('bodies', `a body of ${bytes(size)} was not read: ${refusal.detail}`);
  const { head, end } = response;
  if (!head && end === 'stopped')
    return unknown('bodies', `a body of ${bytes(size)} was not answered within ${seconds(limitMsOf(size))}`);
  if (head && head.status >= 502 && head.status <= 504)
    return unknown('bodies', `a body of ${bytes(size)} did not reach the service: ${whatCame(response)}`);
  if (head?.status === 413)
    return problem('bodies', `a proxy refuses bodies (413); its limit is ${between}`, 'body');
  return problem('bodies', `a body of ${bytes(size)} does not arrive: ${whatCame(response)}`, 'body');
}

function send(caller: Caller, size: number): Promise<Exchange> {
  const padding = size - BEGIN.length - END.length;
  return caller.exchange({
    method: 'POST',
    path: caller.diagnosticPath,
    headers: { ...JSON_TYPE, 'content-length': String(size) },
    limitMs: limitMsOf(size),
    write: async (request) => {
      let answered = false;
      // Some proxies refuse by the length, and close at once: what is written after that would delete their answer.
      let isFirst = true;
      request.once('response', () => (answered = true));
      request.write(BEGIN);
      for (
        let rest = padding - (padding % 4);
        rest > 0 && !answered && !request.destroyed;
        rest -= BLOCK.length
      ) {
        const isRead = request.write(BLOCK.subarray(0, Math.min(rest, BLOCK.length)));
        if (isFirst) await isAnswered(request, LENGTH_MS);
        else if (!isRead) await drained(request);
        isFirst = false;
      }
      if (!answered) request.end(END + ' '.repeat(padding % 4));
    },
  });
}

/** A network has at least 1 MB per second. */
function limitMsOf(size: number): number {
  return LIMIT_MS + size / 1_000;
}

async function drained(request: ClientRequest): Promise<void> {
  const stop = new AbortController();
  const events = ['drain', 'close', 'response'].map((name) => once(request, name, { signal: stop.signal }));
  await Promise.race(events).finally(() => stop.abort());
  await Promise.allSettled(events);
}

/** Whether the answer to a request comes within a time. */
async function isAnswered(request: ClientRequest, ms: number): Promise<boolean> {
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), ms);
  const answered = await once(request, 'response', { signal: stop.signal }).then(
    () => true,
    () => false,
  );
  clearTimeout(late);
  return answered;
}

/** How long a proxy has to refuse a body by its length. */
const LENGTH_MS = 300;

/**
 * How long the service has to refuse a body of which it has only the beginning. The service reads a refused body for 5 s: two of
 * these must be over before.
 */
const EARLY_MS = 1_500;

/**
 * Checks whether a refusal arrives while a body is sent. The content type is wrong: the service refuses by the headers. A proxy may
 * contact the service only when it has some kilobytes of a body, so a little is sent, and then a block.
 */
export async function checkUploads(caller: Caller): Promise<Finding> {
  const pieces = [BLOCK.subarray(0, 1024), BLOCK];
  let sent = 0;
  let isEarly = false;
  const response = await caller.exchange({
    method: 'POST',
    path: caller.diagnosticPath,
    headers: { 'content-type': 'text/plain' },
    limitMs: LIMIT_MS,
    write: async (request) => {
      while (!isEarly && sent < pieces.length) {
        request.write(pieces[sent++]);
        isEarly = await isAnswered(request, EARLY_MS);
      }
      request.end();
    },
  });
  if (response.head?.status === 408 && !serviceProblem(response))
    return warning(
      'uploads',
      `a proxy refuses an upload that pauses for ${seconds(EARLY_MS)} (408)`,
      'pauses',
    );
  if (serviceProblem(response)?.code !== 'unsupported_media_type')
    return unknown('uploads', `the refusal of an upload did not arrive: ${whatCame(response)}`);
  if (!isEarly) return lateRefusal(await arrivalMs(caller));
  if (sent === 1)
    return ok('uploads', `a refusal arrives in ${seconds(response.head!.atMs)}, while the body is sent`);
  const measured =
    'a proxy collects a body of some kilobytes before it passes it on: refusals of longer ones arrive early';
  return warning('uploads', measured, 'small-uploads');
}

function lateRefusal(bodyMs: number | undefined): Finding {
  const late = 'a refusal arrives only after the whole upload';
  if (bodyMs === undefined)
    return warning(
      'uploads',
      `${late}: a proxy collects the body, or reads no answer before its end`,
      'uploads',
    );
  if (bodyMs < SLOW_MS / 2)
    return warning('uploads', `a proxy collects a body before it passes it on: ${late}`, 'collected-uploads');
  const measured = `${late}: a proxy passes the body on at once, but reads no answer before its end`;
  return warning('uploads', measured, 'late-refusals');
}

/** How long a query is sent, in pieces. */
const SLOW_MS = 1_000;
const PIECES = 4;

/** How long the body of a slow query took to arrive at the service: milliseconds; undefined if the service does not say it. */
async function arrivalMs(caller: Caller): Promise<number | undefined> {
  const response = await caller.exchange({
    method: 'POST',
    path: caller.diagnosticPath,
    headers: { ...JSON_TYPE, accept: 'text/event-stream' },
    limitMs: LIMIT_MS,
    write: async (request) => {
      request.write(BEGIN);
      for (let piece = 1; piece <= PIECES; piece++) {
        request.write(BLOCK);
        if (piece < PIECES) await wait(SLOW_MS / (PIECES - 1));
      }
      request.end('"}],"kwargs":{"count":1}}');
    },
  });
  const timing = [response.head?.headers['server-timing'] ?? []].flat().join(', ');
  const ms = /(?:^|,\s*)body;dur=(\d+)/.exec(timing)?.[1];
  return ms === undefined ? undefined : Number(ms);
}

function bytes(count: number): string {
  if (count >= 1024 * 1024) return `${(count / 1024 / 1024).toFixed(1).replace(/\.0$/, '')} MiB`;
  return `${Math.round(count / 1024)} KiB`;
}
