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
});
