/** Clients that break the rules of HTTP, or use those that are rarely used. */
import { Buffer } from 'node:buffer';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { eventsOf, isComplete, open } from './connection.mjs';
import { chunked, get, post, query } from './requests.mjs';

const BODY = query('echo framing');
const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
const GZIP = { 'Content-Encoding': 'gzip' };

/** A connection on which nothing happens for so long hangs. */
const HANGING_MS = 10_000;

const withoutHost = (request) =>
  Buffer.from(request.toString('latin1').replace('Host: localhost\r\n', ''), 'latin1');

/** Requests that are no queries. Each must be refused with a 4xx, or its connection be closed. */
const REFUSED = {
  'a length and chunks': post(chunked(Buffer.from(BODY)), { 'Transfer-Encoding': 'chunked' }),
  'two lengths': post(BODY, { 'content-length': '3' }),
  'a negative length': post(BODY, { 'Content-Length': '-1' }),
  'a length that is no number': post(BODY, { 'Content-Length': 'many' }),
  'a chunk size that is no number': post('zz\r\nxx\r\n0\r\n\r\n', CHUNKED),
  'a chunk size that is too large': post('fffffffffffffffff\r\nx', CHUNKED),
  'a chunk that is longer than its size': post('1\r\n{}\r\n0\r\n\r\n', CHUNKED),
  'an unknown transfer encoding': post(BODY, { 'Content-Length': undefined, 'Transfer-Encoding': 'rot13' }),
  'a head that is too large': post(BODY, { 'X-Large': 'x'.repeat(32 * 1024) }),
  'no host': withoutHost(post(BODY)),
  'an unknown method': Buffer.from('BREW /query HTTP/1.1\r\nHost: localhost\r\n\r\n'),
  'an unknown version': Buffer.from('POST /query HTTP/7.7\r\nHost: localhost\r\n\r\n'),
  'a line without a version': Buffer.from('POST /query\r\n\r\n'),
  'a NUL in a header': post(BODY, { 'X-Nul': 'a\0b' }),
  'the hello of TLS': Buffer.from('16030100f8010000f40303', 'hex'),
  'bytes that mean nothing': Buffer.alloc(2000, 0xff),
  'a gzip body that is cut': post(gzipSync(BODY).subarray(0, -9), GZIP),
  'a gzip body that is none': post(BODY, GZIP),
  'a body in another encoding': post(BODY, { 'Content-Encoding': 'zstd' }),
  'a body that is cut': post(BODY.slice(0, -1)),
  'bytes after the JSON': post(`${BODY}x`),
};

/** Each request that is refused leaves the service as it was. */
export async function badFraming({ service, check }) {
  const statuses = {};
  for (const [name, request] of Object.entries(REFUSED)) {
    const connection = await open(service.port);
    const text = await connection.send(request).until(isComplete);
    const status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'closed';
    check(/^4|closed/.test(status), `${name}: ${text.slice(0, 200)}`);
    statuses[status] = (statuses[status] ?? 0) + 1;
    await connection.cut(false);
  }
  return statuses;
}

/** Clients that send after the answer: garbage, which is refused, or another query, which is answered. */
export async function sendingAfterTheAnswer({ service, check, expectRuns }) {
  const bodies = {
    plain: post(BODY),
    chunked: post(chunked(Buffer.from(BODY)), CHUNKED),
    gzip: post(gzipSync(BODY), GZIP),
  };
  for (const [name, request] of Object.entries(bodies)) {
    for (const after of ['garbage \0\r\n\r\n', request]) {
      const connection = await open(service.port);
      await connection.send(request).until(isComplete);
      const { length } = connection.bytes;
      await connection.send(after).until((text) => isComplete(text.slice(length)));
      expectRuns(after === request ? 2 : 1);
      const answer = connection.text.slice(length);
      const isRight =
        after === request ? isWhole(connection.bytes.subarray(length)) : /^$|^HTTP\/1\.1 400/.test(answer);
      check(isRight, `${name}, then ${String(after).slice(0, 10)}: ${answer.slice(0, 200)}`);
      await connection.cut(false);
    }
  }
  return { forms: Object.keys(bodies).length };
}

/** Requests that are sent without waiting for the answers are answered in order. */
export async function pipelined({ service, check, expectRuns, clients }) {
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  const requests = numbers.map((n) =>
    n % 5 === 4 ? get('/query/unknown') : post(query(`echo pipelined ${n}`)),
  );
  const expected = numbers.map((n) => (n % 5 === 4 ? 'not_found' : `pipelined ${n}`));
  const work = async () => {
    const connection = await open(service.port);
    const found = (text) => text.match(/pipelined \d+|not_found/g) ?? [];
    const text = await connection
      .send(Buffer.concat(requests))
      .until(
        (received) =>
          found(received).length >= numbers.length &&
          isComplete(received.slice(received.lastIndexOf('HTTP/1.1'))),
      );
    check(found(text).join() === expected.join(), `pipelined: answered with ${found(text)}`);
    await connection.cut(false);
  };
  await Promise.all(Array.from({ length: clients }, work));
  expectRuns(clients * expected.filter((answer) => answer !== 'not_found').length);
  return { clients, requests: clients * numbers.length };
}

/** Bytes after the end of a gzip body are refused. Another request behind them is answered, or the connection is closed. */
export async function bytesAfterGzip({ service, check }) {
  const next = get('/query/unknown');
  const sizes = [1, 1000, 200_000];
  for (const size of sizes) {
    const connection = await open(service.port);
    const request = post(Buffer.concat([gzipSync(BODY), Buffer.alloc(size)]), GZIP);
    const answered = connection
      .send(Buffer.concat([request, next]))
      .until((text) => text.includes('not_found'));
    const isOver = await Promise.race([answered.then(() => true), delay(HANGING_MS, false, { ref: false })]);
    const isRefused = /^HTTP\/1\.1 400 [^]*invalid_json/.test(connection.text);
    check(isOver && isRefused, `gzip and ${size} bytes: ${connection.text.slice(0, 200)}`);
    await connection.cut(false);
  }
  return { sizes };
}

function isWhole(bytes) {
  return eventsOf(bytes).some(({ data }) => JSON.parse(data).type === 'done');
}
