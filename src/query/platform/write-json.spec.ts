import fc from 'fast-check';
import { anyCharacter } from '../../../test/support/any-character.js';
import { heldLength, JsonPieces, type LongText, piecesOf, writeJson } from './write-json.js';

const written = async (value: unknown, isSorted?: boolean) => {
  const pieces: string[] = [];
  await writeJson(value, (piece) => pieces.push(piece), isSorted);
  return pieces;
};

describe('JSON that is written in pieces', () => {
  it('is that of JSON.stringify for every value', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ stringUnit: anyCharacter }), async (value) => {
        expect((await written(value)).join('')).toBe(JSON.stringify(value));
      }),
    );
  });

  it.each<[string, unknown]>([
    [
      'undefined, functions and symbols',
      { a: undefined, b: () => 1, c: Symbol('c'), d: [undefined, () => 1] },
    ],
    ['a value with toJSON', { at: new Date(0), list: [new Date(1)] }],
    ['numbers that JSON does not have', [NaN, Infinity, -0]],
    ['a member __proto__', JSON.parse('{"__proto__":{"a":1}}')],
  ])('is that of JSON.stringify for %s', async (_, value) => {
    expect((await written(value)).join('')).toBe(JSON.stringify(value));
  });

  it('does not depend on the order of members if it is sorted', async () => {
    const texts = await Promise.all(
      [
        { b: [{ d: 1, c: 2 }], a: 3 },
        { a: 3, b: [{ c: 2, d: 1 }] },
      ].map((value) => written(value, true)),
    );
    expect(texts.map((pieces) => pieces.join(''))).toEqual([
      '{"a":3,"b":[{"c":2,"d":1}]}',
      '{"a":3,"b":[{"c":2,"d":1}]}',
    ]);
  });

  it('has short pieces for a long text, which mean the same where they cut a character in two', async () => {
    const text = `a${'😀'.repeat(40_000)}\n`;
    const pieces = await written([text]);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(17_000);
    expect(JSON.parse(pieces.join(''))).toEqual([text]);
  });

  describe('with JSON that is made already', () => {
    const long: LongText = {
      length: 3,
      async *[Symbol.asyncIterator]() {
        yield* ['a', '\\n', 'b'];
      },
    };
    const value = { id: 1, texts: [new JsonPieces(['{"text":"', long, '"}']), 'short'] };

    it('has it at its place, and a text to read in its turn', () => {
      expect([...piecesOf(value)]).toEqual(['{"id":1,"texts":[{"text":"', long, '"},"short"]}']);
    });

    it('does not count a text that is read while it is written as held', () => {
      const counted = heldLength(value);
      const without = { id: 1, texts: [new JsonPieces(['{"text":"', '"}']), 'short'] };
      expect(counted).toBe(heldLength(without));
    });
  });
});
