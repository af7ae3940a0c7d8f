/**
 * What the reader adds to a small query, in one process: against `JSON.parse` of the bytes, and against the least that a
 * server does with a request's stream.
 *
 *   npm run build && node test/bench/body-small.mjs [rounds = 7]
 */
import { Buffer } from 'node:buffer';
import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { Contents } from '../../dist/query/body/contents.js';
import { JsonScanner } from '../../dist/query/body/json-scanner.js';
import { DEFAULT_BODY_LIMITS } from '../../dist/query/body/limits.js';
import { readBody } from '../../dist/query/body/read-body.js';
import { Spool } from '../../dist/query/body/spool.js';

const rounds = Number(process.argv[2] ?? 7);
const spool = await Spool.open();
const limits = DEFAULT_BODY_LIMITS;

const text = {
  type: 'text',
  text: 'How long is the coast of Norway, islands included, and who measured it first?',
};
const file = {
  type: 'file',
  name: 'a.txt',
  mimeType: 'text/plain',
  base64: Buffer.alloc(30, 'coast').toString('base64'),
};
const BODIES = {
  '200 bytes, a text': {
    parts: [text],
    kwargs: { session_id: '0d9f3c1e-6f0f-4c0e-8d65', locale: 'nb-NO', tags: ['a', 'b'] },
  },
  '200 bytes, a file': { parts: [file], kwargs: { session_id: '0d9f3c1e-6f0f-4c0e-8d65' } },
  '16 kB, a text': { parts: [{ type: 'text', text: text.text.repeat(210) }] },
};

const streamOf = (bytes) => Object.assign(Readable.from([bytes], { objectMode: false }), { headers: {} });

const WAYS = {
  'JSON.parse': (bytes) => JSON.parse(bytes.toString()),
  'scanner alone': (bytes) => {
    const scanner = new JsonScanner(new Contents(limits, spool));
    scanner.scan(bytes);
    return scanner.end().value;
  },
  'stream, JSON.parse': (bytes) =>
    new Promise((resolve) => {
      const chunks = [];
      streamOf(bytes)
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString())));
    }),
  'stream, this reader': async (bytes) => (await readBody(streamOf(bytes), limits, spool)).value,
};

for (const [name, body] of Object.entries(BODIES)) {
  const bytes = Buffer.from(JSON.stringify(body));
  const times = new Map(Object.keys(WAYS).map((way) => [way, []]));
  for (let round = -2; round < rounds; round++) {
    for (const [way, read] of Object.entries(WAYS)) {
      const turns = 20_000;
      const started = performance.now();
      for (let turn = 0; turn < turns; turn++) {
        const value = read(bytes);
        if (value instanceof Promise) await value;
      }
      if (round >= 0) times.get(way).push(((performance.now() - started) / turns) * 1e6);
    }
  }
  console.log(`\n${name} (${bytes.length} bytes), nanoseconds each, median of ${rounds} rounds`);
  for (const [way, all] of times)
    console.log(way.padEnd(22), Math.round(all.sort((a, b) => a - b)[rounds >> 1]));
}
await spool.close();
