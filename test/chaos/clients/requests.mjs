/** The bytes of requests. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** A file that the service keeps in memory, and one that it writes to the spool: see `MEMORY_BYTES`. */
const FILES = [Buffer.from('small'), Buffer.from('A file that is written to the disk. '.repeat(3))];

/** The service is started with this limit for files in memory. */
export const MEMORY_BYTES = 32;

export function post(body, headers = {}) {
  const all = {
    Host: 'localhost',
    'Content-Type': 'application/json',
    Accept: 'text/event-stream',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  };
  return withHead('POST /query HTTP/1.1', all, body);
}

export function get(path, headers = {}) {
  return withHead(`GET ${path} HTTP/1.1`, { Host: 'localhost', Accept: 'text/event-stream', ...headers }, '');
}

function withHead(line, headers, body) {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  return Buffer.concat([Buffer.from(`${[line, ...lines].join('\r\n')}\r\n\r\n`), Buffer.from(body)]);
}

/** The body of a query of one text. */
export function query(text, kwargs = {}) {
  return JSON.stringify({ parts: [{ type: 'text', text }], kwargs });
}

/** The body of a query with files. */
export function queryWithFiles(text) {
  const files = FILES.map((bytes, n) => ({
    type: 'file',
    name: `${n}.txt`,
    mimeType: 'text/plain',
    base64: bytes.toString('base64'),
  }));
  return JSON.stringify({ parts: [files[0], { type: 'text', text }, files[1]], kwargs: {} });
}

/** What the service answers to `queryWithFiles('echo <text>')`: the contents of its messages. */
export function answerWithFiles(text) {
  return [text, ...FILES.map((bytes) => createHash('sha256').update(bytes).digest('hex'))];
}

/** Splits a body into chunks of some bytes (RFC 9112 §7.1). */
export function chunked(body, size = 100) {
  const chunks = [];
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}

const CHUNKED = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };

/** One query in all forms in which it may be sent. */
export function formsOf(body) {
  const bytes = Buffer.from(body);
  const zipped = gzipSync(bytes);
  const gzip = { 'Content-Encoding': 'gzip' };
  return {
    plain: (headers) => post(bytes, headers),
    chunked: (headers) => post(chunked(bytes), { ...CHUNKED, ...headers }),
    gzip: (headers) => post(zipped, { ...gzip, ...headers }),
    'gzip, chunked': (headers) => post(chunked(zipped), { ...CHUNKED, ...gzip, ...headers }),
  };
}
