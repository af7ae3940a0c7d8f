import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Base64Fault } from './base64-decoder.js';
import { BodyContent } from '../files/content.js';
import { DEFAULT_BODY_LIMITS, type BodyLimits } from '../options/table.js';
import { readBody, readParsed, type ReadDocument } from './read-body.js';
import { BodyAborted, drain, refuseByLength } from './request-bytes.js';
import { Spool } from '../files/spool.js';

describe('Reading a body', () => {
  let parent: string;
  let spool: Spool;
  let server: Server;
  let sockets: Socket[];

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'body-'));
    spool = await Spool.open(parent);
    sockets = [];
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
    expect(await files()).toEqual([]);
    expect(await openFiles()).toEqual([]);
    await spool.close();
    expect(await readdir(parent)).toEqual([]);
    await rm(parent, { recursive: true });
  });

  /** Sends the head of a request and `bytes`, and leaves the connection open. */
  async function send(
    headers: Record<string, string | number>,
    ...bytes: (string | Buffer)[]
  ): Promise<{ socket: Socket; request: IncomingMessage; answer: (text: string) => void }> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${lines.join('')}\r\n`);
    for (const piece of bytes) socket.write(piece);
    const [request, response] = (await once(server, 'request')) as [
      IncomingMessage,
      { end: (text: string) => void },
    ];
    return { socket, request, answer: (text) => response.end(text) };
  }

  async function read(
    body: string | Buffer,
    headers: Record<string, string> = {},
    limits: Partial<BodyLimits> = {},
  ): Promise<ReadDocument> {
    const { request } = await send({ ...headers, 'Content-Length': Buffer.byteLength(body) }, body);
    return readBody(request, { ...DEFAULT_BODY_LIMITS, ...limits }, spool);
  }

  /** A chunk of a body (RFC 9112 §7.1). */
  const chunkOf = (bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

  const files = () => readdir(spool.directory).catch(() => []);

  /** Paths of the spool's files that this process has open. */
  async function openFiles(): Promise<string[]> {
    const links = (await readdir('/proc/self/fd')).map((fd) =>
      readlink(`/proc/self/fd/${fd}`).catch(() => ''),
    );
    return (await Promise.all(links)).filter((path) => path.startsWith(parent));
  }

  function listeners(request: IncomingMessage): Record<string, number> {
    return Object.fromEntries(
      ['data', 'end', 'error', 'close', 'readable'].map((name) => [name, request.listenerCount(name)]),
    );
  }

  const bodyOf = (bytes: Buffer) =>
    JSON.stringify({ parts: [{ type: 'file', base64: bytes.toString('base64') }] });

  it('writes a large file from the socket to the disk', async () => {
    const bytes = randomBytes(3_000_000);
    const document = await read(bodyOf(bytes));
    expect(document.contents).toHaveLength(1);
    const [content] = document.contents;
    expect(content).toMatchObject({
      size: 3_000_000,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    expect(await files()).toEqual(['1']);
    expect(await openFiles()).toEqual([]);
    const file = await content!.file('a.bin', 'application/octet-stream');
    expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true);
    await document.discard();
    await document.discard();
    expect(await files()).toEqual([]);
  });

  it('leaves no listener and no file when a small body was read', async () => {
    const { request } = await send({ 'Content-Length': 2 }, '{}');
    const before = listeners(request);
    const document = await readBody(request, DEFAULT_BODY_LIMITS, spool);
    expect(document).toMatchObject({ value: {}, contents: [] });
    expect(listeners(request)).toEqual(before);
    expect(await readdir(parent)).toEqual([]);
  });

  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['GZIP', gzipSync],
    ['identity', (bytes: string) => bytes],
  ])('undoes the content encoding %s', async (encoding, compress) => {
    const bytes = randomBytes(500_000);
    const document = await read(compress(bodyOf(bytes)), { 'Content-Encoding': encoding });
    const file = await document.contents[0]!.file('a', 'b/c');
    expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true);
    await document.discard();
  });

  it('refuses another content encoding and names those that it reads', async () => {
    await expect(read('{}', { 'Content-Encoding': 'zstd' })).rejects.toMatchObject({
      code: 'unsupported_encoding',
      detail: 'The content encoding "zstd" is not read; send gzip, deflate, br or none.',
    });
  });

  it.each([
    ['gzip', gzipSync, 1],
    ['gzip', gzipSync, 1_000_000],
    ['deflate', deflateSync, 1_000_000],
    ['br', brotliCompressSync, 1_000_000],
  ])(
    'refuses a body with bytes after the end of its content encoding %s',
    async (encoding, compress, size) => {
      const body = Buffer.concat([compress('{"parts":[]}'), Buffer.alloc(size)]);
      await expect(read(body, { 'Content-Encoding': encoding })).rejects.toMatchObject({
        code: 'invalid_json',
        detail: `The body has bytes after the end of its content encoding "${encoding}".`,
      });
    },
  );

  it.each([
    ['cut off', gzipSync(bodyOf(randomBytes(1000))).subarray(0, 700)],
    ['not gzip', '{"parts":[]}'],
  ])('refuses a compressed body that is %s', async (_, body) => {
    await expect(read(body, { 'Content-Encoding': 'gzip' })).rejects.toMatchObject({
      code: 'invalid_json',
      detail: 'The body is cut off, or it does not have the content encoding "gzip" that its header states.',
    });
  });

  it.each(['documentBytes', 'fileBytes'])('refuses a compression bomb at the limit of %s', async (limit) => {
    const filling = limit === 'fileBytes' ? 'A' : ' ';
    const bomb = gzipSync(`{"parts":[{"base64":"${filling.repeat(5_000_000)}`);
    const body = limit === 'fileBytes' ? bomb : gzipSync(`{"a":${' '.repeat(5_000_000)}`);
    const { request } = await send({ 'Content-Encoding': 'gzip', 'Content-Length': body.length + 1 }, body);
    const refused = readBody(request, { ...DEFAULT_BODY_LIMITS, [limit]: 1_000_000 }, spool);
    await expect(refused).rejects.toMatchObject({
      code: 'limit_exceeded',
      extras: { limit, value: 1_000_000 },
    });
    expect(await files()).toEqual([]);
  });

  it('refuses a file that is too large while it is still being sent, and the sender can read why', async () => {
    const before = '{"parts":[{"type":"text","text":"a"},{"type":"file","base64":"';
    const { socket, request, answer } = await send(
      { 'Content-Length': 10_000_000 },
      before,
      'A'.repeat(1_500_000),
    );
    const listening = listeners(request);
    const refused = readBody(request, { ...DEFAULT_BODY_LIMITS, fileBytes: 1_000_000 }, spool);
    await expect(refused).rejects.toMatchObject({
      code: 'limit_exceeded',
      detail: 'Part 1: The file is larger than 1000000 bytes.',
      extras: { limit: 'fileBytes', value: 1_000_000, part: 1 },
    });
    expect(request.isPaused()).toBe(true);
    expect(listeners(request)).toEqual(listening);
    expect(await files()).toEqual([]);
    expect(await openFiles()).toEqual([]);

    const drained = drain(request, 100_000_000, 60_000);
    answer('refused');
    const [reply] = (await once(socket, 'data')) as [Buffer];
    expect(reply.toString()).toContain('refused');
    socket.write('A'.repeat(8_500_000 - before.length));
    await drained;
    expect(request.complete).toBe(true);
  });

  it.each([
    ['maxBytes have come', 100_000, 60_000],
    ['maxMs have passed', 1_000_000_000, 20],
  ])('stops draining once %s', async (_, maxBytes, maxMs) => {
    const { request } = await send({ 'Content-Length': 10_000_000 }, 'A'.repeat(200_000));
    const before = listeners(request);
    await drain(request, maxBytes, maxMs);
    expect(request.isPaused()).toBe(true);
    expect(listeners(request)).toEqual(before);
  });

  it('refuses a body whose sender sends nothing for idleMs', async () => {
    const { request } = await send({ 'Content-Length': 1000 }, '{"parts":[');
    await expect(readBody(request, { ...DEFAULT_BODY_LIMITS, idleMs: 20 }, spool)).rejects.toMatchObject({
      code: 'body_timeout',
      detail: 'Nothing of the body came for 20 ms.',
    });
  });

  it('counts compressed bytes as progress, also while they decompress to nothing', async () => {
    const idleMs = 1000;
    const body = gzipSync('{}');
    // The name of the file is a part of the header (RFC 1952 §2.3.1), and ends with a zero byte.
    const header = Buffer.concat([body.subarray(0, 3), Buffer.of(0x08), body.subarray(4, 10)]);
    const headers = { 'Content-Encoding': 'gzip', 'Transfer-Encoding': 'chunked' };
    const { socket, request } = await send(headers, chunkOf(header));
    const read = readBody(request, { ...DEFAULT_BODY_LIMITS, idleMs }, spool);
    const end = Date.now() + 1.5 * idleMs;
    while (Date.now() < end) {
      socket.write(chunkOf(Buffer.from('a')));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    socket.write(
      Buffer.concat([chunkOf(Buffer.of(0)), chunkOf(body.subarray(10)), chunkOf(Buffer.alloc(0))]),
    );
    expect((await read).value).toEqual({});
  });

  it.each([{}, { 'Content-Encoding': 'gzip' }])(
    'leaves no file and no listener when the sender disconnects (%j)',
    async (headers) => {
      const beginning = `{"parts":[{"type":"file","base64":"${randomBytes(1_500_000).toString('base64')}`;
      const bytes = 'Content-Encoding' in headers ? gzipSync(beginning).subarray(0, 1_500_000) : beginning;
      const { socket, request } = await send({ ...headers, 'Content-Length': 10_000_000 }, bytes);
      const before = listeners(request);
      const aborted = expect(readBody(request, DEFAULT_BODY_LIMITS, spool)).rejects.toBeInstanceOf(
        BodyAborted,
      );
      while ((await files()).length === 0) await new Promise(setImmediate);
      socket.destroy();
      await aborted;
      expect(listeners(request)).toEqual(before);
      expect(await files()).toEqual([]);
      expect(await openFiles()).toEqual([]);
    },
  );

  it('rejects at once if the sender disconnected before the reading began', async () => {
    const { socket, request } = await send({ 'Content-Length': 1000 }, '{');
    const closed = new Promise((resolve) => request.on('close', resolve));
    socket.destroy();
    await closed;
    await expect(readBody(request, DEFAULT_BODY_LIMITS, spool)).rejects.toBeInstanceOf(BodyAborted);
  });

  it('rejects at once for a body that was read before', async () => {
    const { request } = await send({ 'Content-Length': 2 }, '{}');
    await readBody(request, DEFAULT_BODY_LIMITS, spool);
    await expect(readBody(request, DEFAULT_BODY_LIMITS, spool)).rejects.toThrow('The body was read before.');
  });

  it('reads a body of any size that comes in one chunk', async () => {
    const bytes = randomBytes(5_000_000);
    const request = Object.assign(Readable.from([Buffer.from(bodyOf(bytes))]), { headers: {} });
    const document = await readBody(request, DEFAULT_BODY_LIMITS, spool);
    expect(document.contents[0]!.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    await document.discard();
  });

  it.each([
    ['1073741824', { 'content-length': '1073741824' }, false],
    ['10 GB', { 'content-length': '10000000000' }, true],
    ['10 GB, compressed', { 'content-length': '10000000000', 'content-encoding': 'gzip' }, false],
    ['unknown', {}, false],
  ])('refuses a body by its length alone only if it cannot fit: %s', (_, headers, refused) => {
    const check = () => refuseByLength(headers, DEFAULT_BODY_LIMITS);
    if (refused) expect(check).toThrow('The files are larger than 536870912 bytes together.');
    else expect(check()).toBeUndefined();
  });

  describe('that the host has parsed', () => {
    const parsed = (value: unknown, limits: Partial<BodyLimits> = {}) =>
      readParsed(value, { ...DEFAULT_BODY_LIMITS, ...limits }, spool);

    it('has the same outcome, and does not change the value of the host', async () => {
      const bytes = randomBytes(300_000);
      const value = {
        parts: [
          { type: 'file', base64: bytes.toString('base64') },
          { type: 'file', base64: 'QUJD\u0141' },
          { type: 'text', base64: '!', text: 'a' },
          'b',
        ],
        kwargs: { base64: '!' },
      };
      const copy = structuredClone(value);
      const document = await parsed(value);
      expect(value).toEqual(copy);
      const [content] = document.contents;
      expect(content!.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
      expect(document.value).toEqual({
        parts: [
          { type: 'file', base64: content },
          { type: 'file', base64: new Base64Fault('has a character that is not of the base64 alphabet', 4) },
          { type: 'text', text: 'a' },
          'b',
        ],
        kwargs: { base64: '!' },
      });
      await document.discard();
      expect(await files()).toEqual([]);
    });

    it('is refused for its depth, however deep it is', async () => {
      for (const opening of ['[', '{"a":']) {
        const depth = 50_000;
        const value: unknown = JSON.parse(
          `${opening.repeat(depth)}1${(opening === '[' ? ']' : '}').repeat(depth)}`,
        );
        await expect(parsed(value)).rejects.toMatchObject({
          code: 'limit_exceeded',
          extras: { limit: 'depth' },
        });
      }
    });

    it('reads text and bytes as JSON text', async () => {
      const text = '{"parts":[{"type":"file","base64":"QQ=="}]}';
      for (const body of [text, Buffer.from(text), new TextEncoder().encode(text)]) {
        const { value } = (await parsed(body)) as { value: { parts: [{ base64: unknown }] } };
        expect(value.parts[0].base64).toBeInstanceOf(BodyContent);
      }
      await expect(parsed('{')).rejects.toMatchObject({ code: 'invalid_json' });
    });

    it.each<[string, Partial<BodyLimits>, unknown, number | undefined]>([
      ['fileBytes', { fileBytes: 2 }, { parts: [1, { type: 'file', base64: 'QUJD' }] }, 1],
      ['filesBytes', { filesBytes: 5 }, { parts: [0, 1].map(() => ({ type: 'file', base64: 'QUJD' })) }, 1],
      ['textBytes', { textBytes: 2 }, { parts: [{ type: 'text', text: '€' }] }, 0],
      ['parts', { parts: 1 }, { parts: [1, 2] }, 1],
      ['depth', { depth: 3 }, { kwargs: { a: [[]] } }, undefined],
      ['documentBytes', { documentBytes: 25 }, { kwargs: { a: [1, '€'] } }, undefined],
    ])('is held to the same limit: %s', async (limit, limits, value, part) => {
      const refused = parsed(value, limits);
      await expect(refused).rejects.toMatchObject({ code: 'limit_exceeded', extras: { limit } });
      await refused.catch((error: { extras: { part?: number } }) => expect(error.extras.part).toBe(part));
      const wider = { [limit]: limits[limit as keyof BodyLimits]! + 1 };
      const document = await parsed(value, wider);
      const content = expect.objectContaining({
        size: 3,
        sha256: createHash('sha256').update('ABC').digest('hex'),
      }) as unknown;
      expect(document.value).toEqual(
        JSON.parse(JSON.stringify(value), (name, member: unknown) => (name === 'base64' ? content : member)),
      );
    });
  });
});
