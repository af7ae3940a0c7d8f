import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { Agent, type OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import { message, type Query, QueryModule, type QueryModuleOptions } from '../../src/index.js';
import { promise } from '../promises.js';
import { type Body, request } from '../support/client.js';
import { deferred, eventually } from '../support/conditions.js';
import { describeOnBothAdapters, type Host, startHost } from '../support/host.js';

const TEXT = 'city,sum\nParis,12\n';
const digestOf = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');
/** Bytes that are written to disk. */
const LARGE = Buffer.alloc(1_000_000, Array.from({ length: 253 }, (_, index) => index) as never);
const HOUR = 60 * 60_000;

const formOf = (...parts: string[]) =>
  `${parts.map((part) => `--b\r\nContent-Disposition: form-data; ${part}\r\n`).join('')}--b--\r\n`;
const FORM = { 'content-type': 'multipart/form-data; boundary=b' };

/** A body without `Content-Length`. */
async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 77_777) yield bytes.subarray(at, at + 77_777);
}

describeOnBothAdapters('A file before its query on %s', (adapter) => {
  let host: Host;
  let directory: string;
  let received: Query['parts'];
  const connections = new Agent({ keepAlive: true });
  afterAll(() => connections.destroy());

  const start = async (options: Partial<QueryModuleOptions> = {}) => {
    await host?.close();
    const module = QueryModule.forRoot({
      handler: async function* ({ parts }) {
        received = parts;
        for (const part of parts)
          if (part.type === 'file') yield message(digestOf(Buffer.from(await part.file.arrayBuffer())));
      },
      owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'],
      spoolDirectory: directory,
      ...options,
      limits: { fileBytes: 4_000_000, filesBytes: 6_000_000, spoolBytes: 9_000_000, ...options.limits },
    });
    host = await startHost(adapter, module);
  };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'uploads-'));
    await start();
  });
  afterEach(async () => {
    await host.close();
    host = undefined as never;
    expect(await readdir(directory)).toEqual([]);
    await rm(directory, { recursive: true });
  });

  const send = (body: Body, headers: OutgoingHttpHeaders = {}, caller = 'ann') =>
    request(
      host.url,
      { path: '/query/files', headers: { 'x-caller': caller, ...headers }, agent: connections },
      body,
    );
  const partOf = (bytes: string | Uint8Array, more: object = {}) => ({
    type: 'file',
    name: 'a.csv',
    mimeType: 'text/csv',
    sha256: digestOf(bytes),
    ...more,
  });
  const queryWith = (parts: unknown[], caller = 'ann') =>
    request(
      host.url,
      { headers: { 'x-caller': caller }, agent: connections },
      JSON.stringify({ parts: [{ type: 'text', text: 'Hi' }, ...parts] }),
    );
  const head = async (bytes: string | Uint8Array, caller = 'ann') => {
    const path = `/query/files/${digestOf(bytes)}`;
    const headers = { 'x-caller': caller };
    const { status } = await request(host.url, { method: 'HEAD', path, headers, agent: connections });
    return status;
  };
  /** The temporary files that exist now. */
  const spooled = async () => {
    const own = await readdir(directory);
    const files = own.map(async (name) =>
      (await readdir(join(directory, name))).map((file) => join(directory, name, file)),
    );
    return (await Promise.all(files)).flat();
  };

  it(promise('uploads.keep', 'as the body'), async () => {
    const before = Date.now();
    const reply = await send(TEXT, {
      'content-type': 'text/csv',
      'content-disposition': `attachment; filename="sales.csv"; filename*=UTF-8''%E6%96%87%20(1).csv`,
    });
    expect([reply.status, reply.headers['cache-control']]).toEqual([201, 'no-store']);
    const { expiresAt, ...file } = await reply.json<{ expiresAt: string }>();
    expect(file).toEqual({ sha256: digestOf(TEXT), size: 18, name: '文 (1).csv', mimeType: 'text/csv' });
    expect(Date.parse(expiresAt)).toBeGreaterThanOrEqual(before + HOUR);
    expect(Date.parse(expiresAt)).toBeLessThanOrEqual(Date.now() + HOUR);
  });

  it(promise('uploads.keep', 'in a form, among fields that are ignored'), async () => {
    const form = formOf(
      `name="note"\r\n\r\nnothing`,
      `name="upload"; filename="文.csv"\r\nContent-Type: text/csv\r\n\r\n${TEXT}`,
    );
    const reply = await send(Buffer.from(form), FORM);
    expect([reply.status, await reply.json()]).toEqual([
      201,
      {
        sha256: digestOf(TEXT),
        size: 18,
        name: '文.csv',
        mimeType: 'text/csv',
        expiresAt: expect.any(String),
      },
    ]);
  });

  it(promise('uploads.keep', 'of any size, in any pieces, compressed or not'), async () => {
    const form = Buffer.concat([
      Buffer.from('--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'),
      LARGE,
      Buffer.from('\r\n--b--\r\n'),
    ]);
    const bare = { 'content-type': 'application/octet-stream' };
    for (const [body, headers] of [
      ['', bare],
      [pieces(LARGE), bare],
      [gzipSync(LARGE), { ...bare, 'content-encoding': 'gzip' }],
      [pieces(form), FORM],
      [gzipSync(form), { ...FORM, 'content-encoding': 'gzip' }],
    ] as [Body, OutgoingHttpHeaders][]) {
      const bytes = body === '' ? '' : LARGE;
      const reply = await send(body, headers);
      expect(await reply.json()).toMatchObject({ sha256: digestOf(bytes), size: bytes.length });
    }
    // What is left is the file that the store keeps.
    expect(await spooled()).toHaveLength(0);
  });

  it(promise('uploads.keep', 'where its sender waits for 100 Continue'), async () => {
    const socket = connect(Number(new URL(host.url).port), '127.0.0.1');
    socket.write(
      'POST /query/files HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
    );
    const [interim] = (await once(socket, 'data')) as [Buffer];
    expect(interim.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('Hi');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
    socket.destroy();
  });

  it(promise('uploads.query'), async () => {
    for (const bytes of [TEXT, LARGE]) expect((await send(bytes)).status).toBe(201);
    const kwargs = { session_id: 's' };
    const parts = [partOf(TEXT), partOf(LARGE, { name: 'b', mimeType: 'a/b' })];
    const headers = { 'x-caller': 'ann' };
    const reply = await request(host.url, { headers }, JSON.stringify({ parts, kwargs }));
    expect((await reply.answer()).text).toBe(digestOf(TEXT) + digestOf(LARGE));
    expect(received).toMatchObject([
      { type: 'file', name: 'a.csv', mimeType: 'text/csv', sha256: digestOf(TEXT) },
      { type: 'file', name: 'b', mimeType: 'a/b', sha256: digestOf(LARGE) },
    ]);
    const page = await request(host.url, { method: 'GET', path: '/query/sessions/s', headers });
    const { turns } = await page.json<{ turns: { runId: string; parts: unknown[] }[] }>();
    expect(turns[0]!.parts).toEqual([
      { type: 'file', name: 'a.csv', mimeType: 'text/csv', size: 18, sha256: digestOf(TEXT) },
      { type: 'file', name: 'b', mimeType: 'a/b', size: 1_000_000, sha256: digestOf(LARGE) },
    ]);
    const path = `/query/${turns[0]!.runId}/files/${digestOf(TEXT)}`;
    expect(await (await request(host.url, { method: 'GET', path, headers })).whole()).toBe(TEXT);
  });

  it(
    promise('uploads.query', 'of which no copy is made, and which the handler can read when it has expired'),
    async () => {
      const [called, expired] = [deferred(), deferred()];
      await start({
        handler: async function* ({ parts: [, part] }) {
          called.resolve();
          await expired.promise;
          if (part?.type === 'file') yield message(digestOf(Buffer.from(await part.file.arrayBuffer())));
        },
      });
      await send(LARGE);
      const reply = await queryWith([partOf(LARGE)]);
      await called.promise;
      const files = (await spooled()).map((path) => stat(path));
      expect(new Set((await Promise.all(files)).map(({ ino }) => ino)).size).toBe(1);
      const now = Date.now.bind(Date);
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + HOUR);
      expect(await head(LARGE)).toBe(200);
      expired.resolve();
      expect((await reply.answer()).text).toBe(digestOf(LARGE));
      clock.mockRestore();
    },
  );

  it(promise('uploads.query', 'whose bytes show another type'), async () => {
    await send('%PDF-1.7', { 'content-type': 'text/plain' });
    const part = partOf('%PDF-1.7', { name: 'a.png', mimeType: 'image/png' });
    expect(await (await queryWith([part])).whole()).toContain(
      '"a.png\\" is declared as image/png, but its bytes are application/pdf."',
    );
  });

  it(promise('uploads.query', 'where the part has its content too: the digest is ignored'), async () => {
    const part = partOf('', { base64: 'SGk=', sha256: 'none' });
    expect((await (await queryWith([part])).answer()).text).toBe(digestOf('Hi'));
  });

  it(promise('uploads.missing'), async () => {
    await send(TEXT);
    const reply = await queryWith([partOf('x'), partOf(TEXT), partOf('y')]);
    const detail =
      'is the digest of no file that you have sent, or it is no longer kept: send the file again';
    expect(await reply.json()).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      code: 'file_missing',
      detail: `"/parts/1/sha256" ${detail} (and 1 more).`,
      errors: [
        { pointer: '/parts/1/sha256', detail },
        { pointer: '/parts/3/sha256', detail },
      ],
    });
    const malformed = await queryWith([partOf(TEXT, { sha256: digestOf(TEXT).toUpperCase() })]);
    expect(await malformed.json()).toMatchObject({
      code: 'invalid_query',
      errors: [{ pointer: '/parts/1/sha256', detail: 'must be a SHA-256: 64 lower-case hexadecimal digits' }],
    });
  });

  it(promise('uploads.known'), async () => {
    expect(await head(TEXT)).toBe(404);
    await send(TEXT);
    expect(await head(TEXT)).toBe(200);
    const query = { parts: [partOf('', { sha256: undefined, base64: 'SGk=' })] };
    await (await request(host.url, { headers: { 'x-caller': 'ann' } }, JSON.stringify(query))).whole();
    await eventually(async () => (await head('Hi')) === 200);
  });

  it(promise('uploads.owners'), async () => {
    await send(TEXT);
    const all = async (bytes: string) => {
      const reply = await queryWith([partOf(bytes)], 'bob');
      return [await head(bytes, 'bob'), reply.status, (await reply.whole()).replaceAll(digestOf(bytes), '')];
    };
    expect(await all(TEXT)).toEqual(await all('unknown'));
    expect((await send(TEXT, {}, 'bob')).status).toBe(201);
    expect(await head(TEXT, 'bob')).toBe(200);
  });

  it(promise('uploads.limits'), async () => {
    const endless = async function* () {
      for (;;) yield LARGE;
    };
    const problem = {
      type: 'about:blank',
      title: 'Payload Too Large',
      status: 413,
      detail: 'The file is larger than 4000000 bytes.',
      code: 'limit_exceeded',
      limit: 'fileBytes',
      value: 4_000_000,
    };
    const form = async function* () {
      yield '--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n';
      yield* endless();
    };
    expect(await (await send(endless())).json()).toEqual(problem);
    expect(await (await send(form(), FORM)).json()).toEqual(problem);
    const bomb = gzipSync(Buffer.alloc(8_000_000));
    expect(await (await send(bomb, { 'content-encoding': 'gzip' })).json()).toEqual(problem);
    expect(await (await send('', { 'content-length': '99000000000' })).json()).toEqual(problem);
    expect(await spooled()).toEqual([]);
  });

  const JUNK = 'x'.repeat(64 * 1024);
  const SENT = 'name="f"; filename="f"\r\n\r\nx';
  it.each([
    ['before its first part', `${JUNK}\r\n${formOf(SENT)}`],
    ['in a field', formOf(SENT, `name="a"\r\n\r\n${JUNK}`)],
    ['after its last part', formOf(SENT) + JUNK],
  ])(promise('uploads.limits', 'also of what a form has %s'), async (_, form) => {
    const reply = await send(pieces(Buffer.from(form)), FORM);
    expect(await reply.json()).toMatchObject({
      status: 413,
      detail: 'The body has more than 65536 bytes besides the content of its files.',
      code: 'limit_exceeded',
      limit: 'documentBytes',
      value: 65_536,
    });
    expect(await spooled()).toEqual([]);
  });

  it(promise('uploads.limits', 'also of those that a query names'), async () => {
    const other = Buffer.alloc(3_900_000, 'b');
    for (const bytes of [LARGE, other]) await send(bytes);
    expect(await (await queryWith([partOf(LARGE), partOf(other), partOf(other)])).json()).toMatchObject({
      detail: 'Part 3: The files are larger than 6000000 bytes together.',
      code: 'limit_exceeded',
    });
    await eventually(async () => (await spooled()).length === 0);
  });

  it.each([
    [
      'a path as its name',
      { 'content-disposition': 'attachment; filename="../a"' },
      'x',
      /^The name of the file .*"\/"/,
    ],
    ['no type', { 'content-type': 'csv' }, 'x', /^The type of the file in Content-Type must be a media type/],
    [
      'no boundary',
      { 'content-type': 'multipart/form-data' },
      'x',
      /^The header Content-Type has no boundary/,
    ],
    ['a form without a file', FORM, formOf('name="a"\r\n\r\nx'), /^The form has no file\./],
    [
      'a form without an end',
      FORM,
      formOf('name="a"; filename="a"\r\n\r\nx').slice(0, -8),
      /^The form is cut off/,
    ],
    [
      'a form with a line that begins with the boundary',
      FORM,
      formOf('name="a"; filename="a"\r\n\r\nx\r\n--by\r\nz'),
      /^A line of the form begins with the boundary\. Send one file/,
    ],
    [
      'a form with a line that begins with the boundary of its end',
      FORM,
      formOf('name="a"; filename="a"\r\n\r\nx\r\n--b--y\r\nz'),
      /^A line of the form begins with the boundary\. Send one file/,
    ],
    ['no form at all', FORM, TEXT, /^The form is cut off/],
    [
      'two files',
      FORM,
      formOf('name="a"; filename="a"\r\n\r\nx', 'name="b"; filename="b"\r\n\r\ny'),
      /^The form has several files\. Send one file/,
    ],
    ['a path in a form', FORM, formOf('name="a"; filename="a/b"\r\n\r\nx'), /^The name of the file .*"\/"/],
    ['another encoding', { 'content-encoding': 'gzip' }, 'x', /does not have the content encoding "gzip"/],
  ])(promise('uploads.refused', '%s'), async (_, headers, body, detail) => {
    const reply = await send(body, headers);
    expect([reply.status, await reply.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'invalid_query', detail: expect.stringMatching(detail) }),
    ]);
    expect(await spooled()).toEqual([]);
  });

  it(promise('uploads.refused', 'whose bytes show another type, where the host wants that'), async () => {
    await start({ rejectMismatchedTypes: true });
    const reply = await send('%PDF-1.7', {
      'content-type': 'image/png',
      'content-disposition': 'attachment; filename=a.png',
    });
    expect(await reply.json()).toMatchObject({
      code: 'invalid_query',
      detail: '"a.png" is declared as image/png, but its bytes are application/pdf.',
    });
    expect(await head('%PDF-1.7')).toBe(404);
  });

  it(promise('uploads.no-leftover'), async () => {
    for (const head of ['', `Content-Type: ${FORM['content-type']}\r\n`]) {
      const socket = connect(Number(new URL(host.url).port), '127.0.0.1');
      socket.write(`POST /query/files HTTP/1.1\r\nHost: a\r\n${head}Content-Length: 4000000\r\n\r\n`);
      if (head !== '') socket.write('--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n');
      socket.write(LARGE);
      await eventually(async () => (await spooled()).length === 1);
      socket.destroy();
      await eventually(async () => (await spooled()).length === 0);
    }
  });

  it(promise('uploads.no-leftover', 'where it makes no progress'), async () => {
    await start({ limits: { idleMs: 50 } });
    const silent = deferred();
    const reply = await send(
      (async function* () {
        yield LARGE;
        await silent.promise;
      })(),
    );
    expect(await reply.json()).toMatchObject({ status: 408, code: 'body_timeout' });
    silent.resolve();
    expect(await spooled()).toEqual([]);
  });

  it(promise('uploads.expire'), async () => {
    await send(TEXT);
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + HOUR);
    try {
      expect(await head(TEXT)).toBe(404);
      expect((await queryWith([partOf(TEXT)])).status).toBe(400);
    } finally {
      clock.mockRestore();
    }
  });

  it(promise('uploads.unused'), async () => {
    await start({ limits: { unusedBytesPerOwner: 1_500_000 } });
    expect((await send(LARGE)).status).toBe(201);
    const other = Buffer.alloc(1_000_000);
    const refused = await send(other);
    expect([refused.status, refused.headers['retry-after'], await refused.json()]).toEqual([
      429,
      '60',
      expect.objectContaining({ code: 'rate_limited' }),
    ]);
    expect((await send(other, {}, 'bob')).status).toBe(201);
    await (await queryWith([partOf(LARGE)])).whole();
    await eventually(async () => (await send(other)).status === 201);
  });
});
