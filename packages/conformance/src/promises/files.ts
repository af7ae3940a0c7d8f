import { createHash } from 'node:crypto';
import type { Caller } from '../caller.js';
import { promisesOf } from '../promise.js';
import { file, say } from '../script.js';
import { equal, has, holds } from '../unmet.js';
import { refused } from './refusals.js';

/** The envelope of a file. */
interface FileData {
  name: string;
  mimeType: string;
  size: number;
  sha256: string;
  path: string;
}

const CONTENT = Buffer.from(Array.from({ length: 1_000 }, (_, n) => n % 256));
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');
const NAME = 'résumé 你.bin';
const TYPE = 'application/x-conformance';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const FILES = promisesOf('files', {
  answer: [
    '2.9',
    'A file that the agent emits arrives as its name, type, size, digest and path, without the content.',
    async (caller) => {
      const { path, ...data } = await emittedFile(caller);
      equal('the envelope', data, { name: NAME, mimeType: TYPE, size: CONTENT.length, sha256: SHA256 });
      holds(path.startsWith('/'), 'a path of the service', path);
    },
  ],
  download: [
    '2.9',
    'GET of its path returns the file, byte for byte.',
    async (caller) => {
      const reply = await caller.get((await emittedFile(caller)).path, {});
      equal('the status', reply.status, 200);
      const bytes = await reply.whole();
      holds(bytes.equals(CONTENT), `${CONTENT.length} bytes as emitted`, `${bytes.length} bytes`);
    },
  ],
  headers: [
    '2.9',
    'A file is a download that no browser shows as a page: its type, attachment with its name (RFC 5987), ETag, nosniff, sandbox.',
    async (caller) => {
      const { headers } = await caller.get((await emittedFile(caller)).path, {});
      has('the headers', headers, {
        'content-type': TYPE,
        'x-content-type-options': 'nosniff',
        'content-security-policy': 'sandbox',
      });
      const disposition = headers['content-disposition'] ?? '';
      const [, name = ''] = /^attachment\b.*;\s*filename\*=UTF-8''([^;\s]+)/i.exec(disposition) ?? [];
      equal('the name in Content-Disposition', decoded(name), NAME);
      holds(/^"[^"]+"$/.test(headers.etag ?? ''), 'a strong ETag', headers.etag);
    },
  ],
  range: [
    '2.9',
    'With Range, the answer is that part of the file: 206.',
    async (caller) => {
      const { path } = await emittedFile(caller);
      const ranges: [range: string, from: number, to: number][] = [
        ['bytes=10-19', 10, 20],
        ['bytes=990-', 990, 1_000],
        ['bytes=-5', 995, 1_000],
      ];
      for (const [range, from, to] of ranges) {
        const reply = await caller.get(path, { range });
        equal(`the status of ${range}`, reply.status, 206);
        equal('Content-Range', reply.headers['content-range'], `bytes ${from}-${to - 1}/1000`);
        equal('the bytes', [...(await reply.whole())], [...CONTENT.subarray(from, to)]);
      }
      await refused(await caller.get(path, { range: 'bytes=1000-' }), 416);
    },
  ],
  'not-modified': [
    '2.9',
    'With If-None-Match and the ETag, the answer is 304.',
    async (caller) => {
      const { path } = await emittedFile(caller);
      const { headers } = await caller.get(path, {});
      const reply = await caller.get(path, { 'if-none-match': headers.etag ?? '' });
      equal('the status', reply.status, 304);
    },
  ],
  query: [
    '2.9',
    'A file that came with the query can be downloaded in the same way.',
    async (caller) => {
      const reply = await caller.ask([say('a')], { parts: [file(NAME, TYPE, CONTENT)] });
      await reply.whole();
      const download = await caller.get(`${caller.runPath(reply)}/files/${SHA256}`, {});
      equal('the status', download.status, 200);
      holds(
        (await download.whole()).equals(CONTENT),
        'the content of the file',
        `${download.bytes.length} bytes`,
      );
    },
  ],
  'not-found': [
    '2.9',
    'A file that the run does not have is 404.',
    async (caller) => {
      const { path } = await emittedFile(caller);
      const other = path.replace(SHA256, createHash('sha256').update(caller.token).digest('hex'));
      await refused(await caller.get(other, {}), 404, 'not_found');
    },
  ],
  mismatch: [
    '2.3',
    'A file whose bytes are clearly of another type than it says is taken, and the stream has a log that says so; or it is 400.',
    async (caller) => {
      const reply = await caller.submit([say('a')], { parts: [file('a.txt', 'text/plain', PNG)] });
      if (reply.status === 400) return void (await refused(reply, 400, 'invalid_query'));
      equal('the status', reply.status, 200);
      const types = (await reply.envelopes()).map(({ type }) => type);
      holds(types.includes('log'), 'a log', types);
    },
  ],
});

/** A file that an agent has emitted, as callers see it. */
async function emittedFile(caller: Caller): Promise<FileData> {
  const step = { file: { name: NAME, mimeType: TYPE, base64: CONTENT.toString('base64') } };
  const [envelope] = await caller.answer([step]);
  equal('the type of the envelope', envelope?.type, 'file');
  const data = envelope!.data as FileData;
  holds(typeof data.path === 'string', 'an envelope with a path', data);
  return data;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
