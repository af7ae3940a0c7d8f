import fc from 'fast-check';
import { base64Of, sourceOf } from './file-source.js';

describe('The base64 of a file', () => {
  it('is that of its bytes, however they arrive', async () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(chunks, async (pieces) => {
        const content = ReadableStream.from(pieces);
        let text = '';
        for await (const piece of base64Of(sourceOf({ content }))) text += piece;
        expect(text).toBe(Buffer.concat(pieces).toString('base64'));
      }),
    );
  });

  it('is written in pieces of at most 512 KiB', async () => {
    const content = new Uint8Array(2_000_000).fill(7);
    const pieces: string[] = [];
    for await (const piece of base64Of(sourceOf({ content }))) pieces.push(piece);
    expect(pieces.map(({ length }) => length)).toEqual([
      524_288, 524_288, 524_288, 524_288, 524_288, 45_224, 4,
    ]);
    expect(pieces.join('')).toBe(Buffer.from(content).toString('base64'));
  });

  it('is right also where a source uses its buffer again', async () => {
    const letters = '0123456789ABCDEFGHIJ';
    async function* content() {
      const buffer = Buffer.alloc(4);
      for (let at = 0; at < letters.length; at += 4) {
        buffer.write(letters.slice(at, at + 4));
        yield buffer;
        await Promise.resolve();
      }
    }
    let text = '';
    for await (const piece of base64Of(sourceOf({ content: content() }))) text += piece;
    expect(Buffer.from(text, 'base64').toString()).toBe(letters);
  });

  it.each([
    ['fails without a reason', new ReadableStream({ start: (controller) => controller.error() })],
    [
      'cannot be iterated',
      {
        [Symbol.asyncIterator]: () => {
          throw new Error('It is closed.');
        },
      },
    ],
    ['yields texts', ReadableStream.from(['text'])],
  ])('fails with file_unreadable where a source %s', async (_what, content) => {
    const read = async () => {
      for await (const piece of base64Of(sourceOf({ name: 'a.txt', content: content as never }))) void piece;
    };
    await expect(read()).rejects.toMatchObject({
      code: 'file_unreadable',
      message: expect.stringMatching(/^The file "a.txt" cannot be read \(.+\)\.$/) as string,
    });
  });
});
