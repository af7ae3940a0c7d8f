import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { anyCharacter } from '../../../test/support/any-character.js';
import type { QueryError } from '../contract/errors.js';
import { BodyContents } from '../files/body-contents.js';
import { BodyContent } from '../files/content.js';
import { Spool } from '../files/spool.js';
import { type BodyLimits, DEFAULT_BODY_LIMITS } from '../options/table.js';
import { Base64Fault } from './base64-decoder.js';
import { DataUrl } from './data-url.js';
import { JsonScanner } from './json-scanner.js';
import { placesOf } from './places.js';

const PLACES = placesOf({ 'messages.*.parts.*.url': 'dataUrl', 'input.*.file.data': 'file', raw: 'base64' });

describe('The places of a document', () => {
  let parent: string;
  let spool: Spool;

  beforeAll(async () => {
    parent = await mkdtemp(join(tmpdir(), 'places-'));
    spool = await Spool.open(parent);
  });

  afterAll(async () => {
    await spool.close();
    await rm(parent, { recursive: true });
  });

  function scan(chunks: (Buffer | string)[], limits: Partial<BodyLimits> = {}) {
    const scanner = new JsonScanner(new BodyContents({ ...DEFAULT_BODY_LIMITS, ...limits }, spool), PLACES);
    for (const chunk of chunks) scanner.scan(Buffer.from(chunk));
    return scanner.end();
  }

  /** What was read, with contents as their texts and faults as their offsets. */
  function shown(value: unknown): unknown {
    if (value instanceof DataUrl) return { mimeType: value.mimeType, content: shown(value.content) };
    if (value instanceof BodyContent) return `bytes ${value.bytes!.toString('hex')}`;
    if (value instanceof Base64Fault) return `fault at ${value.offset}`;
    return value;
  }

  const urlIn = (text: string, cut?: number) => {
    const body = Buffer.from(`{"messages":[{"parts":[{"type":"text"},{"url":${text}}]}]}`);
    const chunks = cut === undefined ? [body] : Array.from(body, (byte) => Buffer.of(byte));
    const { value } = scan(chunks) as { value: { messages: [{ parts: [object, { url: unknown }] }] } };
    return shown(value.messages[0].parts[1].url);
  };

  it.each([
    ['"data:image/png;base64,QUJD"', { mimeType: 'image/png', content: 'bytes 414243' }],
    ['"data:image\\/png;base64,QUJD"', { mimeType: 'image/png', content: 'bytes 414243' }],
    ['"DATA:text/plain;charset=utf-8;BASE64,"', { mimeType: 'text/plain;charset=utf-8', content: 'bytes ' }],
    ['"data:;base64,QUJD"', { mimeType: 'text/plain', content: 'bytes 414243' }],
    ['"data:image/png;base64,QUJ!"', { mimeType: 'image/png', content: 'fault at 3' }],
    ['"data:text/plain,hello"', 'data:text/plain,hello'],
    ['"https://example.com/a.png"', 'https://example.com/a.png'],
    ['"dat"', 'dat'],
    ['"daté \\u00e9\\n"', 'daté é\n'],
    ['"é"', 'é'],
    ['""', ''],
    ['7', 7],
  ])('decode %s, however it is cut', (text, expected) => {
    expect(urlIn(text)).toEqual(expected);
    expect(urlIn(text, 1)).toEqual(expected);
  });

  it.each([
    ['"data:image/png;base64,QUJD"', { mimeType: 'image/png', content: 'bytes 414243' }],
    ['"QUJD"', 'bytes 414243'],
    ['"dat="', 'fault at 2'],
    ['"https://example.com"', 'fault at 5'],
    ['"é"', 'fault at 0'],
  ])('take %s as a file in both forms', (text, expected) => {
    const { value } = scan([`{"input":[{"file":{"data":${text}}}]}`]) as {
      value: { input: [{ file: { data: unknown } }] };
    };
    expect(shown(value.input[0].file.data)).toEqual(expected);
  });

  it('keep every string as JSON.parse returns it that is not a data URL', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        fc.pre(!/^data:.*,/isu.test(text));
        expect(urlIn(JSON.stringify(text), 1)).toBe(JSON.parse(JSON.stringify(text)));
      }),
    );
  });

  it('name what is too large by its pointer', () => {
    const refused = () =>
      scan(['{"messages":[{},{"parts":[{"url":"data:a/b;base64,QUJDRA=="}]}]}'], { fileBytes: 3 });
    expect(refused).toThrow('"/messages/1/parts/0/url": The file is larger than 3 bytes.');
    const pointer = '/messages/1/parts/0/url';
    try {
      refused();
    } catch (error) {
      expect((error as QueryError).extras.errors).toEqual([
        { pointer, detail: 'The file is larger than 3 bytes.' },
      ]);
    }
  });

  it('drop contents whose member comes again, at any depth', () => {
    const { value, contents } = scan([
      '{"raw":"QQ==","messages":[{"parts":[{"url":"data:a/b;base64,QQ==","url":"data:a/b;base64,Qg=="}]}],"raw":"Qw==","messages":1}',
    ]);
    expect(contents.map(shown)).toEqual(['bytes 43']);
    expect(value).toMatchObject({ messages: 1 });
  });
});
