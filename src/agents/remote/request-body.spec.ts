import { buffer } from 'node:stream/consumers';
import { type Query, type QueryPart } from '../../query/index.js';
import { RequestBody } from './request-body.js';

function filePart(content: Uint8Array): QueryPart {
  const file = new File([content], 'ä".bin');
  return { type: 'file', name: 'ä".bin', mimeType: 'a/b; c="d"', sha256: '', file };
}

async function sent(
  query: Query,
  owner = 'anonymous',
): Promise<{ text: string; parsed: Query; length: number }> {
  const body = new RequestBody(query, owner);
  const text = (await buffer(body.bytes())).toString();
  return { text, parsed: JSON.parse(text) as Query, length: body.length };
}

describe('The body of a request', () => {
  it('has the parts in their order, and kwargs', async () => {
    const bytes = new Uint8Array(200_000).map((_, index) => index * 7);
    const text = (text: string): QueryPart => ({ type: 'text', text });
    const parts = [
      text('a\ud800'),
      filePart(bytes),
      filePart(new Uint8Array()),
      text('"€"'),
      filePart(bytes.subarray(1)),
    ];
    const query = { parts, kwargs: { n: [1, null], ä: { b: '😀' } } };
    const { parsed, text: body, length } = await sent(query);
    const base64 = (content: Uint8Array) => Buffer.from(content).toString('base64');
    const file = { type: 'file', name: 'ä".bin', mimeType: 'a/b; c="d"' };
    expect(parsed).toEqual({
      parts: [
        text('a\ud800'),
        { ...file, base64: base64(bytes) },
        { ...file, base64: '' },
        text('"€"'),
        { ...file, base64: base64(bytes.subarray(1)) },
      ],
      kwargs: query.kwargs,
    });
    expect(length).toBe(Buffer.byteLength(body));
  });

  it.each([1, 2, 3, 4, 5, 65_535, 65_536, 65_537, 131_073])(
    'has the length that it announces for %d bytes',
    async (size) => {
      const content = new Uint8Array(size).fill(0xfb);
      const { parsed, text, length } = await sent({ parts: [filePart(content)], kwargs: {} });
      expect(length).toBe(Buffer.byteLength(text));
      expect((parsed.parts[0] as unknown as { base64: string }).base64).toBe(
        Buffer.from(content).toString('base64'),
      );
    },
  );

  it('keeps the sessions of owners apart', async () => {
    const parts: QueryPart[] = [{ type: 'text', text: '' }];
    const idOf = async (owner: string, session_id: unknown) =>
      (await sent({ parts, kwargs: { session_id, other: 1 } }, owner)).parsed.kwargs;
    expect(await idOf('anonymous', 's')).toEqual({ session_id: 's', other: 1 });
    expect(await idOf('ada', undefined)).toEqual({ other: 1 });
    const { session_id: ada } = await idOf('ada', 's');
    expect(ada).toMatch(/^[0-9a-f]{64}$/);
    expect(await idOf('ada', 's')).toEqual({ session_id: ada, other: 1 });
    expect((await idOf('bob', 's'))['session_id']).not.toBe(ada);
    expect((await idOf('anonymous', ada))['session_id']).not.toBe(ada);
  });
});
