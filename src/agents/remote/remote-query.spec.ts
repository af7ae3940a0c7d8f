import type { Query, QueryPart } from '../../query/index.js';
import { remoteQuery } from './remote-query.js';

async function sent(query: Query, owner = 'anonymous'): Promise<Query> {
  const body = remoteQuery(query, owner);
  const text = await new Response(await body.open(undefined, new AbortController().signal)).text();
  expect(body.size).toBe(Buffer.byteLength(text));
  return JSON.parse(text) as Query;
}

describe('The query of the agent remote', () => {
  it('has the parts in their order, kwargs, and the length that it announces', async () => {
    const bytes = Buffer.alloc(200_000, 'abcdefg');
    const file = { type: 'file', name: 'ä".bin', mimeType: 'a/b; c="d"' } as const;
    const parts: QueryPart[] = [
      { type: 'text', text: 'a\ud800' },
      { ...file, sha256: '', file: new File([bytes], file.name) },
      { ...file, sha256: '', file: new File([], file.name) },
      { type: 'text', text: '"€"' },
    ];
    const kwargs = { n: [1, null], ä: { b: '😀' } };
    expect(await sent({ parts, kwargs })).toEqual({
      parts: [parts[0], { ...file, base64: bytes.toString('base64') }, { ...file, base64: '' }, parts[3]],
      kwargs,
    });
  });

  it('keeps the sessions of owners apart', async () => {
    const parts: QueryPart[] = [{ type: 'text', text: '' }];
    const idOf = async (owner: string, session_id: unknown) =>
      (await sent({ parts, kwargs: { session_id, other: 1 } }, owner)).kwargs;
    expect(await idOf('anonymous', 's')).toEqual({ session_id: 's', other: 1 });
    expect(await idOf('ada', undefined)).toEqual({ other: 1 });
    const { session_id: ada } = await idOf('ada', 's');
    expect(ada).toMatch(/^[0-9a-f]{64}$/);
    expect(await idOf('ada', 's')).toEqual({ session_id: ada, other: 1 });
    expect((await idOf('bob', 's'))['session_id']).not.toBe(ada);
    expect((await idOf('anonymous', ada))['session_id']).not.toBe(ada);
  });
});
