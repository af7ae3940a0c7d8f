import fc from 'fast-check';
import { message, type Problem, type QueryPart } from '../../src/index.js';
import { ask, request } from '../support/raw-client.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';

const text = (value: string) => `{"parts":[{"type":"text","text":${value}}]}`;
const file = (base64: string) =>
  JSON.stringify({ parts: [{ type: 'file', name: 'a', mimeType: 'a/b', base64 }] });
const named = (name: string) =>
  JSON.stringify({ parts: [{ type: 'file', name, mimeType: 'a/b', base64: '' }] });
const bytes = (hex: string) => Buffer.from(hex, 'hex');

/** A body, and what the problem says about it. */
const REFUSED: [string, string | Uint8Array, number, string][] = [
  ['nothing at all', '', 400, 'The body is empty.'],
  [
    'white space alone',
    ' \n',
    400,
    'The body is not JSON: at byte 2, expected a value, found the end of the body.',
  ],
  ['an array', '[]', 400, 'The body must be an object with the member "parts".'],
  ['null', 'null', 400, 'The body must be an object with the member "parts".'],
  ['a string', '"parts"', 400, 'The body must be an object with the member "parts".'],
  ['two values', '{}{}', 400, 'The body is not JSON: at byte 2, expected nothing more, found "{".'],
  [
    'a trailing comma',
    '{"parts":[],}',
    400,
    'The body is not JSON: at byte 12, expected a name in double quotes, found "}".',
  ],
  ['no parts in parts', '{"parts":[]}', 400, '"/parts" must hold at least one part.'],
  [
    'parts that are inherited',
    '{"__proto__":{"parts":[{"type":"text","text":"x"}]}}',
    400,
    '"/parts" must be an array of parts.',
  ],
  ['a part of no type', '{"parts":[{}]}', 400, '"/parts/0/type" must be "text" or "file".'],
  [
    'a part of an inherited type',
    '{"parts":[{"__proto__":{"type":"text","text":"x"}}]}',
    400,
    '"/parts/0/type" must be "text" or "file".',
  ],
  ['a part that is an array', '{"parts":[["text","x"]]}', 400, '"/parts/0" must be an object.'],
  ['a bomb of arrays', '['.repeat(1e6), 413, 'The body nests arrays and objects more than 64 deep.'],
  ['a bomb of objects', '{"a":'.repeat(1e6), 413, 'The body nests arrays and objects more than 64 deep.'],
  ['a text of 10 MB', text(`"${'x'.repeat(10e6)}"`), 413, 'Part 0: The text is longer than 8388608 bytes.'],
  [
    'kwargs of 20 MB',
    `{"kwargs":{"a":"${'x'.repeat(20e6)}`,
    413,
    'The body has more than 16777216 bytes besides the content of its files.',
  ],
  [
    'an unescaped NUL',
    text('"a\0b"'),
    400,
    'The body is not JSON: at byte 34, expected the rest of a string, control characters being escaped, found the byte 0x00.',
  ],
  [
    'a NUL after the end',
    '{}\0',
    400,
    'The body is not JSON: at byte 2, expected nothing more, found the byte 0x00.',
  ],
  [
    'UTF-16',
    Buffer.from('{}', 'utf16le'),
    400,
    'The body is not JSON: at byte 1, expected a name in double quotes or "}", found the byte 0x00.',
  ],
  [
    'a lone continuation byte',
    bytes('2280'),
    400,
    'The body is not JSON: at byte 1, expected well-formed UTF-8, found the byte 0x80.',
  ],
  [
    'an overlong character',
    bytes('22c0af22'),
    400,
    'The body is not JSON: at byte 1, expected well-formed UTF-8, found the byte 0xC0.',
  ],
  [
    'a surrogate in UTF-8',
    bytes('22eda08022'),
    400,
    'The body is not JSON: at byte 2, expected well-formed UTF-8, found the byte 0xA0.',
  ],
  [
    'base64 of the URL-safe alphabet',
    file('ab-_'),
    400,
    '"/parts/0/base64" has the URL-safe character "-"; use the standard alphabet ("+" and "/") (at offset 2).',
  ],
  [
    'a data: URL',
    file('data:text/plain;base64,QUJD'),
    400,
    '"/parts/0/base64" is a data: URL; send only what follows its comma (at offset 4).',
  ],
  [
    'base64 with a line break',
    file('QUJD\nQUJD'),
    400,
    '"/parts/0/base64" has a line break; send it as one line (at offset 4).',
  ],
  [
    'base64 with a space',
    file('QUJD QUJD'),
    400,
    '"/parts/0/base64" has white space; send it without (at offset 4).',
  ],
  [
    'base64 without padding',
    file('QUI'),
    400,
    '"/parts/0/base64" ends inside a group of 4 characters: it was cut, or its padding ("=") is missing (at offset 3).',
  ],
  [
    'base64 that goes on after its padding',
    file('QQ==QUJD'),
    400,
    '"/parts/0/base64" goes on after its padding ("=") (at offset 4).',
  ],
  [
    'base64 with bits after its last byte',
    file('QR=='),
    400,
    '"/parts/0/base64" has bits set after its last byte: it was cut or altered (at offset 1).',
  ],
  [
    'base64 that is padding alone',
    file('===='),
    400,
    '"/parts/0/base64" has padding ("=") where a character of the content is due (at offset 0).',
  ],
  ['a file without a name', named(''), 400, '"/parts/0/name" must not be empty.'],
  [
    'a file named by a path',
    named('../../etc/passwd'),
    400,
    '"/parts/0/name" must not contain "/" or "\\": it is a label, not a path.',
  ],
  [
    'a file with a control character in its name',
    named('a\0.png'),
    400,
    '"/parts/0/name" must not contain control characters.',
  ],
  [
    'a file with a name of 256 bytes',
    named('é'.repeat(128)),
    400,
    '"/parts/0/name" must be at most 255 bytes long.',
  ],
];

/** A body, and what the handler is given for its first text. */
const TAKEN: [string, string | Uint8Array, string][] = [
  [
    'duplicate keys: the last one',
    '{"parts":1,"parts":[{"type":"file","type":"text","text":"a","text":"b"}]}',
    'b',
  ],
  ['escaped lone surrogates', text('"a\\ud800b"'), 'a\ud800b'],
  ['an escaped NUL', text('"a\\u0000b"'), 'a\0b'],
  ['a byte order mark', Buffer.from('\ufeff' + text('"a"')), 'a'],
  [
    'members that are not known',
    '{"x":{"parts":[]},"parts":[{"type":"text","text":"a","base64":"?","name":3}],"kwargs":null}',
    'a',
  ],
  ['an empty text', text('""'), ''],
  ['a text of 8 MiB', text(`"${'x'.repeat(8 * 1024 * 1024)}"`), 'x'.repeat(8 * 1024 * 1024)],
];

describe.each(ADAPTERS)('A body on %s', (adapter) => {
  let host: Host;
  let given: QueryPart[] = [];
  beforeAll(async () => {
    host = await startAgent(adapter, async function* ({ parts }) {
      given = parts;
      yield message('Hi');
    });
  });
  afterAll(() => host.close());

  const isStillThere = async () => {
    const next = await ask(host.url);
    expect(await next.whole()).toBe(
      'data: {"type":"message","data":{"content":"Hi"}}\n\ndata: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  };

  it.each(REFUSED)(
    'that is or has %s is refused, and the next one answered',
    async (_, body, status, detail) => {
      const answer = await request(host.url, {}, body);
      expect(JSON.parse(await answer.whole())).toMatchObject({ status, detail });
      expect(answer.status).toBe(status);
      await isStillThere();
    },
  );

  it('that is cut off anywhere is refused', async () => {
    const whole =
      '{"parts":[{"type":"file","name":"a","mimeType":"a/b","base64":"QUJD"}],"kwargs":{"a":[1.5e1,true]}}';
    for (let end = 0; end < whole.length; end++) {
      const answer = await request(host.url, {}, whole.slice(0, end));
      expect([end, JSON.parse(await answer.whole()).code]).toEqual([end, 'invalid_json']);
    }
    await isStillThere();
  });

  it.each(TAKEN)('with %s is taken', async (_, body, expected) => {
    expect(await (await request(host.url, {}, body)).whole()).toContain('"completed"');
    expect(given[0]).toEqual({ type: 'text', text: expected });
  });

  it('with a value of another type in any field is refused with the pointer of that field, and no other', async () => {
    const sound = {
      parts: [
        { type: 'text', text: 'Hello' },
        { type: 'file', name: 'a.csv', mimeType: 'text/csv', base64: 'QUJD' },
      ],
      kwargs: { session_id: 's' },
    };
    const strings = [
      '/parts/0/type',
      '/parts/0/text',
      '/parts/1/type',
      '/parts/1/name',
      '/parts/1/mimeType',
      '/parts/1/base64',
      '/kwargs/session_id',
    ];
    const field = fc.constantFrom('/parts', '/parts/0', '/kwargs', ...strings);
    const isOfType = (pointer: string, value: unknown) => {
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      if (pointer === '/parts') return Array.isArray(value);
      if (pointer === '/parts/0') return isObject;
      if (pointer === '/kwargs') return isObject || value === null;
      return typeof value === 'string' || (pointer === '/kwargs/session_id' && value === null);
    };
    await fc.assert(
      fc.asyncProperty(field, fc.jsonValue(), async (pointer, value) => {
        fc.pre(!isOfType(pointer, value));
        const body = structuredClone(sound) as never;
        const path = pointer.slice(1).split('/');
        const name = path.pop()!;
        const holder = path.reduce<Record<string, never>>((at, step) => at[step]!, body);
        Object.assign(holder, { [name]: value });
        const answer = await request(host.url, {}, JSON.stringify(body));
        const problem = JSON.parse(await answer.whole()) as Problem;
        expect(problem.code).toBe('invalid_query');
        expect(problem.errors!.map((error) => error.pointer)).toEqual([pointer]);
      }),
      { numRuns: 300 },
    );
    await isStillThere();
  });
});
