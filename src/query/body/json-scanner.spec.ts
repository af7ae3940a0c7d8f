import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { anyCharacter } from '../../../test/support/any-character.js';
import { casesOf } from '../../../test/support/long-form.js';
import { readPlainly } from '../../../test/support/body-oracle.mjs';
import { QueryError } from '../contract/errors.js';
import { Base64Fault } from './base64-decoder.js';
import { BodyContent } from '../files/content.js';
import { BodyContents } from '../files/body-contents.js';
import { JsonScanner } from './json-scanner.js';
import { DEFAULT_BODY_LIMITS, type BodyLimits } from '../options/table.js';
import { Spool } from '../files/spool.js';

describe('The scanner of a query', () => {
  let parent: string;
  let spool: Spool;
  let opened: BodyContents[] = [];

  beforeAll(async () => {
    parent = await mkdtemp(join(tmpdir(), 'scanner-'));
    spool = await Spool.open(parent);
  });

  afterEach(async () => {
    for (const contents of opened) await contents.discard();
    opened = [];
    expect(await readdir(spool.directory).catch(() => [])).toEqual([]);
  });

  afterAll(async () => {
    await spool.close();
    expect(await readdir(parent)).toEqual([]);
    await rm(parent, { recursive: true });
  });

  function open(limits: Partial<BodyLimits>): JsonScanner {
    const contents = new BodyContents({ ...DEFAULT_BODY_LIMITS, ...limits }, spool);
    opened.push(contents);
    return new JsonScanner(contents);
  }

  function scan(chunks: (Buffer | string)[], limits: Partial<BodyLimits> = {}): unknown {
    const scanner = open(limits);
    for (const chunk of chunks) scanner.scan(Buffer.from(chunk));
    return scanner.end().value;
  }

  function refusal(chunks: (Buffer | string)[], limits: Partial<BodyLimits> = {}): QueryError {
    try {
      scan(chunks, limits);
    } catch (error) {
      if (error instanceof QueryError) return error;
      throw error;
    }
    throw new Error('The text was accepted.');
  }

  const base64s = (value: unknown) =>
    (value as { parts: { base64?: unknown }[] }).parts.map((part) => part.base64);

  it.each([
    ['', 'The body is empty.'],
    ['  ', 'at byte 2, expected a value, found the end of the body.'],
    ['{"parts":[}', 'at byte 10, expected a value or "]", found "}".'],
    ['{"parts":[1,]}', 'at byte 12, expected a value, found "]".'],
    ['{"parts":[1 2]}', 'at byte 12, expected "," or "]", found "2".'],
    ['{"a":1 "b"}', 'at byte 7, expected "," or "}", found a double quote.'],
    ['{"a":1,}', 'at byte 7, expected a name in double quotes, found "}".'],
    ["{'a':1}", 'at byte 1, expected a name in double quotes or "}", found "\'".'],
    ['{"a" 1}', 'at byte 5, expected ":", found "1".'],
    ['{} {}', 'at byte 3, expected nothing more, found "{".'],
    ['[tru]', 'at byte 4, expected "true", found "]".'],
    ['[-]', 'at byte 2, expected a digit, found "]".'],
    ['[01]', 'at byte 2, expected "," or "]", found "1".'],
    ['1.', 'at byte 2, expected a digit, found the end of the body.'],
    ['["a', 'at byte 3, expected the rest of a string, found the end of the body.'],
    ['["\\x"]', 'at byte 3, expected one of " \\ / b f n r t u after a backslash, found "x".'],
    ['["\\u12g4"]', 'at byte 6, expected a hexadecimal digit, found "g".'],
    [
      '["a\nb"]',
      'at byte 3, expected the rest of a string, control characters being escaped, found the byte 0x0A.',
    ],
    ['\ufeff\ufeff{}', 'at byte 3, expected a value, found the byte 0xEF.'],
    [
      '{"parts":[{"base64":"QU\nJD"}]}',
      'at byte 23, expected the rest of a string, control characters being escaped, found the byte 0x0A.',
    ],
  ])('states where and why %j is not JSON, however it is cut', (text, sentence) => {
    const whole = refusal([text]);
    expect(whole.code).toBe('invalid_json');
    expect(whole.detail.replace('The body is not JSON: ', '')).toBe(sentence);
    expect(refusal([...Buffer.from(text)].map((byte) => Buffer.of(byte))).detail).toBe(whole.detail);
  });

  it.each([
    [[0xc0, 0xaf], 4],
    [[0xe0, 0x9f, 0xbf], 5],
    [[0xed, 0xa0, 0x80], 5],
    [[0xf0, 0x8f, 0xbf, 0xbf], 5],
    [[0xf4, 0x90, 0x80, 0x80], 5],
    [[0xf5, 0x80], 4],
    [[0x80], 4],
    [[0xe2, 0x82], 6],
  ])('refuses the ill-formed UTF-8 %p at byte %i', (bytes, offset) => {
    const text = Buffer.concat([Buffer.from(' [" '), Buffer.from(bytes), Buffer.from('"]')]);
    expect(refusal([text]).detail).toContain(`at byte ${offset}, expected well-formed UTF-8`);
  });

  it('ignores one byte order mark at the beginning', () => {
    expect(scan(['\ufeff{"a":"é"}'])).toEqual({ a: 'é' });
    expect(scan([Buffer.of(0xef), Buffer.of(0xbb), Buffer.of(0xbf), '1'])).toBe(1);
    expect(refusal([Buffer.of(0xef), Buffer.of(0xbb), '1']).code).toBe('invalid_json');
  });

  it('decodes the base64 of file parts and of nothing else', () => {
    const value = scan([
      '{"base64":"QQ==","kwargs":{"parts":[{"type":"file","base64":"QQ=="}]},"parts":[',
      '{"type":"file","base64":"QQ==","more":{"base64":"QQ=="},"list":[{"base64":"QQ=="}]},["base64"],[{"base64":"QQ=="}]]}',
    ]) as { parts: [{ base64: unknown }] };
    expect(value.parts[0].base64).toBeInstanceOf(BodyContent);
    value.parts[0].base64 = 'QQ==';
    expect(value).toEqual({
      base64: 'QQ==',
      kwargs: { parts: [{ type: 'file', base64: 'QQ==' }] },
      parts: [
        { type: 'file', base64: 'QQ==', more: { base64: 'QQ==' }, list: [{ base64: 'QQ==' }] },
        ['base64'],
        [{ base64: 'QQ==' }],
      ],
    });
    expect(scan(['[[{"type":"file","base64":"QQ=="}]]'])).toEqual([[{ type: 'file', base64: 'QQ==' }]]);
  });

  it('recognises names and characters that are written as escapes', () => {
    const value = scan(['{"p\\u0061rts":[{"base64":"\\u0051\\/\\/=","ty\\u0070e":"fil\\u0065"}]}']);
    expect(base64s(value)).toEqual([
      new Base64Fault('has bits after its last byte that are not zero: it was cut off or altered', 2),
    ]);
    expect(base64s(scan(['{"parts":[{"\\u0062ase64":"Q\\/\\/\\u002f","type":"file"}]}']))).toMatchObject([
      { size: 3 },
    ]);
  });

  it('uses the last of several members with one name', () => {
    const twice =
      '{"parts":[{"type":"file","base64":"QUJD"}],"parts":[{"type":"file","base64":"!","base64":"QQ=="},{}]}';
    expect(base64s(scan([twice]))).toMatchObject([{ size: 1 }, undefined]);
    expect(scan(['{"parts":[{"type":"file","base64":"QQ=="}],"parts":null}'])).toEqual({ parts: null });
    expect(base64s(scan(['{"parts":[{"type":"file","base64":"QQ==","base64":7}]}']))).toEqual([7]);
  });

  it('drops the base64 of a part whose type is not file', () => {
    expect(scan(['{"parts":[{"base64":"!","type":"text","text":"a"},{"base64":"QQ=="}]}'])).toEqual({
      parts: [{ type: 'text', text: 'a' }, {}],
    });
  });

  it('treats __proto__ as a member like any other', () => {
    const value = scan(['{"__proto__":{"parts":1},"parts":[{"__proto__":{"type":"file"},"base64":"QQ=="}]}']);
    expect(JSON.stringify(value)).toBe('{"__proto__":{"parts":1},"parts":[{"__proto__":{"type":"file"}}]}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each<[string, Partial<BodyLimits>, string, string, number | undefined]>([
    ['fileBytes', { fileBytes: 3 }, '{"parts":[{"base64":"QUJD"},{"base64":"QUJDRA==', '"}]}', 1],
    [
      'filesBytes',
      { filesBytes: 5 },
      '{"parts":[{"base64":"QUJD","base64":"QUI="},{"base64":"QQ==',
      '"}]}',
      1,
    ],
    ['fileBytes', { fileBytes: 3 }, '{"parts":[{"base64":"*AAAAA', '"}]}', 0],
    ['textBytes', { textBytes: 4 }, '{"parts":[{"text":"é€', '"}]}', 0],
    ['textBytes', { textBytes: 4 }, '{"parts":[{"text":"\\ud83d\\ude00\\n', '"}]}', 0],
    ['textBytes', { textBytes: 5 }, '{"parts":[{"text":"\\ud83da\\ude00', '"}]}', 0],
    ['parts', { parts: 2 }, '{"parts":[1,2,3', ']}', 2],
    ['depth', { depth: 3 }, '{"a":[[[', ']]]}', undefined],
    ['documentBytes', { documentBytes: 9 }, '{"a":12345', '}', undefined],
  ])('refuses a body that exceeds %s (%j) before it ends', async (limit, limits, beginning, rest, part) => {
    const value = limits[limit as keyof BodyLimits]!;
    const scanner = open(limits);
    let refused: unknown;
    try {
      scanner.scan(Buffer.from(beginning));
    } catch (error) {
      refused = error;
    }
    expect(refused).toMatchObject({ code: 'limit_exceeded', extras: { limit, value } });
    expect((refused as QueryError).extras?.part).toBe(part);
    const text = beginning + rest;
    expect(await outcome([text], { ...limits, [limit]: value + 20 })).toEqual(readPlainly(Buffer.from(text)));
  });

  it('accepts a body that reaches each limit exactly', async () => {
    const limits = { fileBytes: 4, filesBytes: 8, textBytes: 4, parts: 3, depth: 3, documentBytes: 63 };
    const text = '{"parts":[{"base64":"QUJDRA=="},{"base64":"QUJDRA=="},{"text":"\\ud83d\\ude00"}]}';
    expect(await outcome([text], limits)).toEqual({
      value: { parts: [{}, {}, { text: '😀' }] },
    });
    expect(refusal([text], { ...limits, documentBytes: 62 }).extras?.limit).toBe('documentBytes');
  });

  /** JSON text of a value; `escapes` states one after another which letters of its strings are written as escapes. */
  function write(value: unknown, escapes: boolean[]): string {
    let count = 0;
    const letter = (text: string) =>
      text.length === 1 && escapes[count++ % escapes.length]
        ? `\\u00${text.charCodeAt(0).toString(16)}`
        : text;
    const string = (text: string) => text.replace(/\\u....|\\.|[a-z+/]/g, letter);
    return JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"/g, string);
  }

  it('has the same outcome as JSON.parse and a strict decoder for any document, however it is cut', async () => {
    const base64 = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64')),
      fc.base64String(),
      fc.string({ unit: anyCharacter, maxLength: 20 }),
    );
    const member = fc.oneof(
      { weight: 4, arbitrary: base64 },
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    );
    const part = fc.record(
      {
        base64: member,
        type: fc.constantFrom('file', 'file', 'text', 1),
        text: fc.jsonValue({ maxDepth: 1 }),
      },
      { requiredKeys: [] },
    );
    const parts = fc.array(
      fc.oneof({ weight: 5, arbitrary: part }, { weight: 1, arbitrary: fc.jsonValue() }),
    );
    const body = fc.oneof(
      { weight: 5, arbitrary: fc.record({ parts, kwargs: fc.jsonValue() }, { requiredKeys: ['parts'] }) },
      { weight: 1, arbitrary: fc.jsonValue() },
    );
    const damages = fc.option(
      fc.record({ offset: fc.nat(400), bytes: fc.uint8Array({ maxLength: 3 }), removed: fc.nat(3) }),
    );
    const cuts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 30 });

    await fc.assert(
      fc.asyncProperty(body, fc.array(fc.boolean()), damages, cuts, async (value, escapes, damage, sizes) => {
        let bytes = Buffer.from(write(value, escapes));
        if (damage) {
          const from = damage.offset % (bytes.length + 1);
          const rest = bytes.subarray(from + damage.removed);
          bytes = Buffer.concat([bytes.subarray(0, from), damage.bytes, rest]);
        }
        const chunks: Buffer[] = [];
        for (let offset = 0; offset < bytes.length; offset += chunks.at(-1)!.length) {
          chunks.push(bytes.subarray(offset, offset + sizes[chunks.length % sizes.length]!));
        }
        expect(await outcome(chunks)).toEqual(readPlainly(bytes));
      }),
      { numRuns: casesOf(1500) },
    );
  });

  async function outcome(
    chunks: (Buffer | string)[],
    limits: Partial<BodyLimits> = {},
  ): Promise<{ value: unknown } | { error: true }> {
    let value: unknown;
    try {
      value = scan(chunks, limits);
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_json' });
      return { error: true };
    }
    const parts = (value as { parts?: unknown } | null)?.parts;
    for (const part of Array.isArray(parts) ? (parts as ({ base64?: unknown } | null)[]) : []) {
      const held = part?.base64;
      if (held instanceof Base64Fault) part!.base64 = { fault: held.offset };
      if (!(held instanceof BodyContent)) continue;
      const bytes = Buffer.from(await (await held.file('a', 'a/b')).arrayBuffer());
      part!.base64 = { content: bytes.toString('hex') };
    }
    return { value };
  }
});
