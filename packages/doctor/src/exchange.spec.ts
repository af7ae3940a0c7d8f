import { brotliCompressSync } from 'node:zlib';
import { endlessRefusal, RemoteServer } from '../../../test/support/remote-service.js';
import { decoded } from './content-encoding.js';
import { exchange, textOf } from './exchange.js';

describe('The doctor, reading a response,', () => {
  it('reads the beginning of a refusal that never ends', async () => {
    const server = await RemoteServer.start();
    server.answers(endlessRefusal(400, 'No. '));
    const target = { origin: new URL(server.url), path: '/query', headers: {} };
    const response = await exchange(target, { method: 'GET', path: '/query', limitMs: 60_000 });
    await server.stop();
    expect(response).toMatchObject({ head: { status: 400 }, end: 'stopped' });
    expect(textOf(response)).toMatch(/^No\. x+$/);
    expect(textOf(response).length).toBeLessThan(192 * 1024);
  });

  it('leaves bytes as they are whose compression it does not know', async () => {
    const pieces = [{ atMs: 5, bytes: Buffer.from('text') }];
    for (const encoding of ['zstd', 'constructor']) expect(await decoded(pieces, encoding)).toBe(pieces);
  });

  it('stops where a few compressed bytes become many', async () => {
    const bytes = brotliCompressSync(Buffer.alloc(16 * 1024 * 1024));
    expect(bytes.length).toBeLessThan(1024);
    const pieces = await decoded([{ atMs: 5, bytes }], 'br');
    expect(pieces).toHaveLength(1);
    expect(pieces[0]!.bytes.length).toBeLessThan(9 * 1024 * 1024);
  });
});
