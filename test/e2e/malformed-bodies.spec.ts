import fc from 'fast-check';
import { message, type Problem, type QueryPart } from '../../src/index.js';
import { promise } from '../promises.js';
import { casesOf } from '../support/long-form.js';
import { ask, request } from '../support/client.js';
import { describeOnBothAdapters, type Host, startAgent } from '../support/host.js';

const text = (value: string) => `{"parts":[{"type":"text","text":${value}}]}`;
const file = (base64: string) =>
  JSON.stringify({ parts: [{ type: 'file', name: 'a', mimeType: 'a/b', base64 }] });
const named = (name: string) =>
  JSON.stringify({ parts: [{ type: 'file', name, mimeType: 'a/b', base64: '' }] });
const bytes = (hex: string) => Buffer.from(hex, 'hex');

/** A body, and the detail of the problem. */
type Refused = [name: string, body: string | Uint8Array, detail: string];

const NOT_JSON: Refused[] = [
  ['nothing at all', '', 'The body is empty.'],
  [
    'white space alone',
    ' \n',
    'The body is not JSON: at byte 2, expected a value, found the end of the body.',
  ],
  ['two values', '{}{}', 'The body is not JSON: at byte 2, expected nothing more, found "{".'],
  [
    'a trailing comma',
    '{"parts":[],}',
    'The body is not JSON: at byte 12, expected a name in double quotes, found "}".',
  ],
  [
    'an unescaped NUL',
    text('"a\0b"'),
    'The body is not JSON: at byte 34, expected the rest of a string, control characters being escaped, found the byte 0x00.',
  ],
  [
    'a NUL after the end',
    '{}\0',
    'The body is not JSON: at byte 2, expected nothing more, found the byte 0x00.',
  ],
];

const NOT_UTF_8: Refused[] = [
  [
    'UTF-16',
    Buffer.from('{}', 'utf16le'),
    'The body is not JSON: at byte 1, expected a name in double quotes or "}", found the byte 0x00.',
  ],
  [
    'a lone continuation byte',
    bytes('2280'),
    'The body is not JSON: at byte 1, expected well-formed UTF-8, found the byte 0x80.',
  ],
  [
    'an overlong character',
    bytes('22c0af22'),
    'The body is not JSON: at byte 1, expected well-formed UTF-8, found the byte 0xC0.',
  ],
  [
    'a surrogate in UTF-8',
    bytes('22eda08022'),
    'The body is not JSON: at byte 2, expected well-formed UTF-8, found the byte 0xA0.',
  ],
];

const FIELDS: Refused[] = [
  ['an array', '[]', 'The body must be an object with the member "parts".'],
  ['null', 'null', 'The body must be an object with the member "parts".'],
  ['a string', '"parts"', 'The body must be an object with the member "parts".'],
  ['no parts in parts', '{"parts":[]}', '"/parts" must contain at least one part.'],
  [
    'parts that are inherited',
    '{"__proto__":{"parts":[{"type":"text","text":"x"}]}}',
    '"/parts" must be an array of parts.',
  ],
  ['a part of no type', '{"parts":[{}]}', '"/parts/0/type" must be "text" or "file".'],
  [
    'a part of an inherited type',
    '{"parts":[{"__proto__":{"type":"text","text":"x"}}]}',
    '"/parts/0/type" must be "text" or "file".',
  ],
  ['a part that is an array', '{"parts":[["text","x"]]}', '"/parts/0" must be an object.'],
];

const OVER_LIMITS: Refused[] = [
  ['a bomb of arrays', '['.repeat(1e6), 'The body nests arrays and objects more than 64 deep.'],
  ['a bomb of objects', '{"a":'.repeat(1e6), 'The body nests arrays and objects more than 64 deep.'],
  ['a text of 8.4 MB', text(`"${'x'.repeat(8.4e6)}"`), 'Part 0: The text is longer than 8388608 bytes.'],
  [
    'kwargs of 17 MB',
    `{"kwargs":{"a":"${'x'.repeat(17e6)}`,
    'The body has more than 16777216 bytes besides the content of its files.',
  ],
];

const BASE64: Refused[] = [
  [
    'base64 of the URL-safe alphabet',
    file('ab-_'),
    '"/parts/0/base64" has the URL-safe character "-"; use the standard alphabet ("+" and "/") (at offset 2).',
  ],
  [
    'a data: URL',
    file('data:text/plain;base64,QUJD'),
    '"/parts/0/base64" is a data: URL; send only what follows its comma (at offset 4).',
  ],
  [
    'base64 with a line break',
    file('QUJD\nQUJD'),
    '"/parts/0/base64" has a line break; send it as one line (at offset 4).',
  ],
  [
    'base64 with a space',
    file('QUJD QUJD'),
    '"/parts/0/base64" has white space; send it without white space (at offset 4).',
  ],
  [
    'base64 without padding',
    file('QUI'),
    '"/parts/0/base64" ends inside a group of 4 characters: it was cut off, or its padding ("=") is missing (at offset 3).',
  ],
  [
    'base64 that continues after its padding',
    file('QQ==QUJD'),
    '"/parts/0/base64" continues after its padding ("=") (at offset 4).',
  ],
  [
    'base64 with bits after its last byte',
    file('QR=='),
    '"/parts/0/base64" has bits after its last byte that are not zero: it was cut off or altered (at offset 1).',
  ],
  [
    'base64 that is padding alone',
    file('===='),
    '"/parts/0/base64" has padding ("=") where a character of the content is expected (at offset 0).',
  ],
];

const NAMES: Refused[] = [
  ['a file without a name', named(''), '"/parts/0/name" must not be empty.'],
  [
    'a file named by a path',
    named('../../etc/passwd'),
    '"/parts/0/name" must not contain "/" or "\\": it is a label, not a path.',
  ],
  [
    'a file with a control character in its name',
    named('a\0.png'),
    '"/parts/0/name" must not contain control characters.',
  ],
  [
    'a file with a name of 256 bytes',
    named('é'.repeat(128)),
    '"/parts/0/name" must be at most 255 bytes long.',
  ],
];

const MEDIA_TYPES = [
  'text/csv',
  'a/b',
  'application/vnd.a+json',
  'text/csv;charset=utf-8',
  'text/csv; header="present"',
];
const NO_MEDIA_TYPES = [
  '',
  'text',
  '/csv',
  'text/',
  'text/csv, text/plain',
  'text/c s v',
  `a/${'b'.repeat(254)}`,
];

/** A body, and what the handler receives as its first text. */
type Accepted = [name: string, body: string | Uint8Array, received: string];

const AS_JSON_PARSE: Accepted[] = [
  [
    'the last of duplicate names',
    '{"parts":1,"parts":[{"type":"file","type":"text","text":"a","text":"b"}]}',
    'b',
  ],
  ['escaped lone surrogates', text('"a\\ud800b"'), 'a\ud800b'],
  ['an escaped NUL', text('"a\\u0000b"'), 'a\0b'],
  ['an empty text', text('""'), ''],
];

describeOnBothAdapters('A body on %s', (adapter) => {
  let host: Host;
  let given: QueryPart[] = [];
  beforeAll(async () => {
    host = await startAgent(adapter, async function* ({ parts }) {
      given = parts;
      yield message('Hi');
    });
  });
  afterAll(() => host.close());

  const expectNextAnswer = async () => {
    const next = await ask(host.url);
    expect(await next.whole()).toBe(
      'data: {"type":"message","data":{"content":"Hi"}}\n\ndata: {"type":"done","data":{"status":"completed"}}\n\n',
    );
  };

  const expectRefusal = async (body: string | Uint8Array, status: number, detail: string) => {
    const reply = await request(host.url, {}, body);
    expect(await reply.json()).toMatchObject({ status, detail });
    expect(reply.status).toBe(status);
    await expectNextAnswer();
  };
  const expectText = async (body: string | Uint8Array, received: string) => {
    const reply = await request(host.url, {}, body);
    expect(await reply.answer()).toEqual({ text: 'Hi', done: [{ status: 'completed' }] });
    expect(given[0]).toEqual({ type: 'text', text: received });
  };

  it.each(NOT_JSON)(promise('body.json', '%s'), (_, body, detail) => expectRefusal(body, 400, detail));
  it.each(NOT_UTF_8)(promise('body.utf-8', '%s'), (_, body, detail) => expectRefusal(body, 400, detail));
  it.each(FIELDS)(promise('body.fields', '%s'), (_, body, detail) => expectRefusal(body, 400, detail));
  it.each(OVER_LIMITS)(promise('limit.problem', '%s'), (_, body, detail) => expectRefusal(body, 413, detail));
  it.each(BASE64)(promise('file.base64', '%s'), (_, body, detail) => expectRefusal(body, 400, detail));
  it.each(NAMES)(promise('file.name', '%s'), (_, body, detail) => expectRefusal(body, 400, detail));

  const typed = (mimeType: string) =>
    JSON.stringify({ parts: [{ type: 'file', name: 'a', mimeType, base64: '' }] });

  it.each(NO_MEDIA_TYPES)(promise('file.mime-type', '%j is refused'), (mimeType) =>
    expectRefusal(
      typed(mimeType),
      400,
      '"/parts/0/mimeType" must be a media type such as "text/csv", at most 255 characters long.',
    ),
  );

  it.each(MEDIA_TYPES)(promise('file.mime-type', '%j is accepted'), async (mimeType) => {
    const reply = await request(host.url, {}, typed(mimeType));
    expect((await reply.answer()).done).toEqual([{ status: 'completed' }]);
    expect(given).toMatchObject([{ type: 'file', mimeType }]);
  });

  it(promise('body.json', 'a body that was cut anywhere'), async () => {
    const whole =
      '{"parts":[{"type":"file","name":"a","mimeType":"a/b","base64":"QUJD"}],"kwargs":{"a":[1.5e1,true]}}';
    for (let end = 0; end < whole.length; end++) {
      const answer = await request(host.url, {}, whole.slice(0, end));
      expect([end, JSON.parse(await answer.whole()).code]).toEqual([end, 'invalid_json']);
    }
    await expectNextAnswer();
  });

  it.each(AS_JSON_PARSE)(promise('body.as-json-parse', '%s'), (_, body, received) =>
    expectText(body, received),
  );

  it(promise('body.byte-order-mark'), () => expectText(Buffer.from('\ufeff' + text('"a"')), 'a'));

  it(promise('body.unknown-members'), () =>
    expectText(
      '{"x":{"parts":[]},"parts":[{"type":"text","text":"a","base64":"?","name":3}],"kwargs":null}',
      'a',
    ),
  );

  it(promise('limit.defaults', 'a text of 8 MiB is accepted'), async () => {
    const longest = 'x'.repeat(8 * 1024 * 1024);
    await expectText(text(`"${longest}"`), longest);
  });

  it(promise('body.fields', 'a value that has members with the names of those of every object'), async () => {
    const value = JSON.parse(
      '{"constructor":"x","__proto__":{"constructor":1},"toString":1,"then":1}',
    ) as object;
    const query = { type: 'file', name: 'a', mimeType: 'a/b', base64: '' };
    const parts = [
      { type: value },
      { type: 'text', text: value },
      ...['name', 'mimeType', 'base64'].map((name) => ({ ...query, [name]: value })),
      { ...query, base64: undefined, sha256: value },
    ];
    for (const part of parts) {
      const reply = await request(host.url, {}, JSON.stringify({ parts: [part] }));
      expect([reply.status, (await reply.json())['code']]).toEqual([400, 'invalid_query']);
    }
    const paths = [
      ['/query/sessions/s/fork', { afterTurn: value, session_id: value }],
      ['/query/r/inputs', { answers: [{ id: value, outcome: value }, value] }],
    ] as const;
    for (const [path, body] of paths) {
      const reply = await request(host.url, { path }, JSON.stringify(body));
      expect([path, reply.status]).toEqual([path, 400]);
    }
  });

  it(promise('status.all-faults', 'a value of another type in any field'), async () => {
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
      { numRuns: casesOf(300) },
    );
    await expectNextAnswer();
  });
});
