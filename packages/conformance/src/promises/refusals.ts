import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Caller } from '../caller.js';
import { promisesOf } from '../promise.js';
import { message, say } from '../script.js';
import { equal, holds } from '../unmet.js';
import type { Reply } from '../wire/reply.js';

/** The body of an error. */
interface Problem {
  code?: unknown;
  errors?: { pointer?: unknown; detail?: unknown }[];
  [member: string]: unknown;
}

const ENCODINGS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

const FILE = { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'SGk=' };
const TEXT = { type: 'text', text: '[]' };

/** Bodies with one fault, and the pointer to it. */
const FAULTS: [body: unknown, pointer: string][] = [
  [{}, '/parts'],
  [{ parts: null }, '/parts'],
  [{ parts: [] }, '/parts'],
  [{ parts: 'text' }, '/parts'],
  [{ parts: [1] }, '/parts/0'],
  [{ parts: [{ type: 'image' }] }, '/parts/0/type'],
  [{ parts: [TEXT, { type: 'text' }] }, '/parts/1/text'],
  [{ parts: [{ type: 'text', text: 1 }] }, '/parts/0/text'],
  [{ parts: [{ ...FILE, name: undefined }] }, '/parts/0/name'],
  [{ parts: [{ ...FILE, mimeType: undefined }] }, '/parts/0/mimeType'],
  [{ parts: [{ ...FILE, base64: undefined }] }, '/parts/0/base64'],
  [{ parts: [TEXT], kwargs: [] }, '/kwargs'],
  [{ parts: [TEXT], kwargs: 'text' }, '/kwargs'],
  [{ parts: [TEXT], kwargs: { session_id: 1 } }, '/kwargs/session_id'],
];

const NAMES = ['', 'a/b.txt', 'a\\b.txt', 'a\u0000.txt', 'a\nb.txt', `${'é'.repeat(126)}.txt`];
const MIME_TYPES = ['', 'text', 'text/', '/plain', 'text plain', 'text/plain; charset'];
const BASE64 = ['data:text/plain;base64,SGk=', 'SGk', 'SG k=', 'SGk=\n', '-_-_', 'SGk=SGk=', '!!!!'];

export const REFUSALS = promisesOf('stream', {
  'problem-json': [
    '2.3',
    'A body that is not JSON is 400 invalid_json, as a problem document with type, title, status, detail and code.',
    async (caller) => {
      for (const body of ['', '{', '{"parts":[}', "{'parts':[]}", '{"parts":[]} x'])
        await refused(await caller.send({ body }), 400, 'invalid_json');
    },
  ],
  'problem-utf8': [
    '2.3',
    'A body that is not well-formed UTF-8 is 400.',
    async (caller) => {
      const body = Buffer.from('{"parts":[{"type":"text","text":"\xff"}]}', 'latin1');
      await refused(await caller.send({ body }), 400);
    },
  ],
  'problem-fields': [
    '2.3',
    'A field that is missing, of the wrong type or not allowed is 400, with a JSON Pointer to it.',
    (caller) => each(caller, FAULTS),
  ],
  'problem-all-faults': [
    '2.3',
    'All faults of a query are listed at once.',
    async (caller) => {
      const parts = [TEXT, { type: 'text' }, { ...FILE, name: '', base64: '!' }];
      const reply = await caller.send({ body: JSON.stringify({ parts, kwargs: 1 }) });
      const { errors = [] } = await refused(reply, 400, 'invalid_query');
      equal('the pointers', errors.map(({ pointer }) => pointer).sort(), [
        '/kwargs',
        '/parts/1/text',
        '/parts/2/base64',
        '/parts/2/name',
      ]);
    },
  ],
  'problem-name': [
    '2.3',
    'A file name is not empty, has at most 255 bytes, and has no slash, backslash or control character.',
    (caller) =>
      each(
        caller,
        NAMES.map((name) => [{ parts: [{ ...FILE, name }] }, '/parts/0/name']),
      ),
  ],
  'problem-mime-type': [
    '2.3',
    'mimeType has the grammar type/subtype with optional parameters.',
    (caller) =>
      each(
        caller,
        MIME_TYPES.map((mimeType) => [{ parts: [{ ...FILE, mimeType }] }, '/parts/0/mimeType']),
      ),
  ],
  'problem-base64': [
    '2.3',
    'base64 has the standard alphabet, padding and no line breaks; else it is 400 and says what is wrong.',
    (caller) =>
      each(
        caller,
        BASE64.map((base64) => [{ parts: [{ ...FILE, base64 }] }, '/parts/0/base64']),
      ),
  ],
  'unknown-members': [
    '2.3',
    'Unknown members of the body or of a part are ignored, and kwargs: null counts as absent.',
    async (caller) => {
      const script = JSON.stringify([{ report: 'query' }]);
      const body = { parts: [{ type: 'text', text: script, more: 1 }], kwargs: null, other: [] };
      const reply = await caller.send({ body: JSON.stringify(body) });
      equal('the status', reply.status, 200);
      const { content } = caller.emitted(await reply.envelopes()).at(-1)!.data as { content: string };
      equal('what the agent received', JSON.parse(content), {
        parts: [{ type: 'text', text: script }],
        kwargs: {},
      });
    },
  ],
  'lone-surrogates': [
    '2.3',
    'Escaped lone surrogates in a text are passed on to the agent.',
    async (caller) => {
      const part = { type: 'text', text: 'a \ud800 b \udfff c' } as const;
      const { parts } = await caller.report<{ parts: unknown[] }>({ report: 'query' }, { parts: [part] });
      equal('the part that the agent received', parts[0], part);
    },
  ],
  compressed: [
    '2.3',
    'A body that is compressed with gzip, deflate or br is decompressed.',
    async (caller) => {
      const body = JSON.stringify({ parts: [{ type: 'text', text: JSON.stringify([say('unpacked')]) }] });
      for (const [encoding, compress] of Object.entries(ENCODINGS)) {
        const headers = { 'content-encoding': encoding };
        const reply = await caller.send({ body: compress(body), headers });
        equal(`the status with ${encoding}`, reply.status, 200);
        equal('the answer', caller.emitted(await reply.envelopes()), [message('unpacked')]);
      }
    },
  ],
  'media-type': [
    '2.3',
    'Another content type than application/json is 415, and so is an unsupported content encoding.',
    async (caller) => {
      const body = JSON.stringify({ parts: [TEXT] });
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
      ])
        await refused(await caller.send({ body, headers: { 'content-type': type } }), 415);
      await refused(await caller.send({ body, headers: { 'content-encoding': 'compress' } }), 415);
    },
  ],
  limit: [
    '2.3',
    'A limit that is exceeded is 413 limit_exceeded; the problem names the limit and its value.',
    async (caller) => {
      const deep = '['.repeat(20_000) + ']'.repeat(20_000);
      const body = `{"parts":[${JSON.stringify(TEXT)}],"kwargs":{"deep":${deep}}}`;
      const problem = await refused(await caller.send({ body }), 413, 'limit_exceeded');
      holds(
        typeof problem['limit'] === 'string' && typeof problem['value'] === 'number',
        'limit and value',
        problem,
      );
    },
  ],
});

/** Checks that each body is refused with this fault alone. */
async function each(caller: Caller, faults: [body: unknown, pointer: string][]): Promise<void> {
  for (const [body, pointer] of faults) {
    const sent = JSON.stringify(body);
    const { errors = [] } = await refused(await caller.send({ body: sent }), 400, 'invalid_query', sent);
    equal(
      `the pointers for ${sent}`,
      errors.map((error) => error.pointer),
      [pointer],
    );
    holds(typeof errors[0]!.detail === 'string', `a detail for ${sent}`, errors);
  }
}

/**
 * Checks that a response is a problem document (RFC 9457).
 *
 * @param sent what was refused, for the report
 */
export async function refused(reply: Reply, status: number, code?: string, sent = ''): Promise<Problem> {
  const body = await reply.text();
  const of = sent === '' ? '' : ` for ${sent}`;
  equal(`the status${of}`, reply.status, status);
  holds(
    /^application\/problem\+json\b/.test(reply.headers['content-type'] ?? ''),
    `Content-Type: application/problem+json${of}`,
    reply.headers['content-type'],
  );
  const problem = parsed(body);
  for (const member of ['type', 'title', 'detail', 'code'])
    holds(typeof problem[member] === 'string', `a problem with "${member}"${of}`, body);
  equal(`the status in the problem${of}`, problem['status'], status);
  if (code !== undefined) equal(`the code${of}`, problem.code, code);
  return problem;
}

function parsed(body: string): Problem {
  try {
    return JSON.parse(body) as Problem;
  } catch {
    holds(false, 'a problem in JSON', body);
  }
}
