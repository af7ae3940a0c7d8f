import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type CanActivate, Controller, Injectable, Module, Post } from '@nestjs/common';
import { message, type Query, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { deferred, eventually } from '../support/conditions.js';
import { describeOnBothAdapters, type Host, startHost } from '../support/host.js';
import { request } from '../support/client.js';

const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';

@Injectable()
class TokenGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Controller('notes')
class NotesController {
  @Post()
  make(): string {
    return 'made';
  }
}

function fileQuery(bytes: number): string {
  const base64 = Buffer.alloc(bytes, 'nest').toString('base64');
  return JSON.stringify({
    parts: [{ type: 'file', name: 'a.bin', mimeType: 'application/octet-stream', base64 }],
  });
}

describeOnBothAdapters('The body of a query on %s', (adapter) => {
  let host: Host;
  let directory: string;
  let answer: (query: Query) => AsyncIterable<ReturnType<typeof message>>;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'bodies-'));
    const module = QueryModule.forRoot({
      handler: (query) => answer(query),
      spoolDirectory: directory,
      limits: { fileBytes: 4_000_000, documentBytes: 100_000, spoolBytes: 5_000_000 },
      runs: { disconnect: 'cancel' },
    });
    @Module({ imports: [module], controllers: [NotesController] })
    class OwnModule {}
    host = await startHost(adapter, OwnModule);
    answer = async function* ({ parts }) {
      for (const part of parts) yield message(part.type === 'file' ? `${part.file.size} bytes` : part.text);
    };
  });

  afterEach(async () => {
    await host.close();
    expect(await readdir(directory)).toEqual([]);
    await rm(directory, { recursive: true });
  });

  /** The temporary files that exist now. */
  async function spooled(): Promise<string[]> {
    const own = await readdir(directory);
    return (await Promise.all(own.map((name) => readdir(join(directory, name))))).flat();
  }

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])(promise('body.compressed', '%s'), async (encoding, compress) => {
    const reply = await request(
      host.url,
      { headers: { 'content-encoding': encoding } },
      compress(fileQuery(300_000)),
    );
    expect(await reply.whole()).toBe('data: {"type":"message","data":{"content":"300000 bytes"}}\n\n' + DONE);
  });

  it(promise('limit.while-arriving', 'also in a compressed body'), async () => {
    const bomb = gzipSync(fileQuery(8_000_000));
    const reply = await request(host.url, { headers: { 'content-encoding': 'gzip' } }, bomb);
    expect(JSON.parse(await reply.whole())).toEqual({
      type: 'about:blank',
      title: 'Payload Too Large',
      status: 413,
      detail: 'Part 0: The file is larger than 4000000 bytes.',
      code: 'limit_exceeded',
      limit: 'fileBytes',
      value: 4_000_000,
      part: 0,
    });
    expect(await spooled()).toEqual([]);
  });

  it(promise('status.unsupported', 'the encoding zstd'), async () => {
    const reply = await request(host.url, { headers: { 'content-encoding': 'zstd' } }, fileQuery(3));
    expect(reply.status).toBe(415);
    expect(JSON.parse(await reply.whole())).toMatchObject({ code: 'unsupported_encoding' });
  });

  it(promise('file.content', 'large files, on disk until the run has ended'), async () => {
    const files: string[][] = [];
    answer = async function* ({ parts: [part] }) {
      if (part?.type !== 'file') return;
      files.push(await spooled());
      const first = await part.file.arrayBuffer();
      let streamed = 0;
      for await (const chunk of part.file.stream()) streamed += chunk.length;
      yield message(
        `${first.byteLength} ${streamed} ${await part.file.slice(0, 4).text()} ${part.file instanceof File}`,
      );
    };
    const reply = await request(host.url, {}, fileQuery(3_000_000));
    const [line] = (await reply.whole()).split('\n');
    expect(line).toBe('data: {"type":"message","data":{"content":"3000000 3000000 nest true"}}');
    expect(files).toEqual([['1']]);
    await eventually(async () => (await spooled()).length === 0);
  });

  it(promise('limit.spool'), async () => {
    const read = deferred();
    const echo = answer;
    answer = async function* (query) {
      await read.promise;
      yield* echo(query);
    };
    const first = await request(host.url, {}, fileQuery(3_000_000));
    const refused = await request(host.url, {}, fileQuery(3_000_000));
    expect(refused.headers['retry-after']).toBe('30');
    expect(await refused.json()).toEqual({
      type: 'about:blank',
      title: 'Insufficient Storage',
      status: 507,
      detail: 'There is no storage space left for files. Try again later.',
      code: 'storage_full',
    });
    expect(await spooled()).toEqual(['1']);
    read.resolve();
    expect(await first.whole()).toContain('3000000 bytes');
    await eventually(async () => (await spooled()).length === 0);
    expect(await (await request(host.url, {}, fileQuery(3_000_000))).whole()).toContain('3000000 bytes');
  });

  it(promise('body.no-leftover'), async () => {
    const socket = net.connect(Number(new URL(host.url).port), '127.0.0.1');
    socket.write(
      'POST /query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n',
    );
    socket.write(fileQuery(2_000_000).slice(0, 1_000_000));
    await eventually(async () => (await spooled()).length === 1);
    socket.destroy();
    await eventually(async () => (await spooled()).length === 0);
    expect(host.agent.load()).toEqual({ running: 0, waiting: 0, asking: 0, followers: 0, overdue: 0 });
  });

  /** Sends headers with `Expect: 100-continue`, and the body after `100 Continue`; resolves with the status lines. */
  async function expecting(headers: string, body = '', path = '/query'): Promise<string[]> {
    const socket = net.connect(Number(new URL(host.url).port), '127.0.0.1');
    const lines: string[] = [];
    const ended = deferred();
    socket.on('data', (chunk: Buffer) => {
      lines.push(...(chunk.toString().match(/^HTTP\/1\.1 .*$/gm) ?? []).map((line) => line.trim()));
      if (lines.at(-1) === 'HTTP/1.1 100 Continue') socket.write(body);
      else socket.destroy();
    });
    socket.on('close', () => ended.resolve());
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n${headers}\r\n\r\n`);
    await once(socket, 'connect');
    await ended.promise;
    return lines;
  }

  it(promise('body.continue', 'acceptable headers'), async () => {
    const body = '{"parts":[{"type":"text","text":"Hi"}]}';
    expect(await expecting(`Content-Type: application/json\r\nContent-Length: ${body.length}`, body)).toEqual(
      ['HTTP/1.1 100 Continue', 'HTTP/1.1 200 OK'],
    );
  });

  it.each([
    ['Content-Type: text/plain\r\nContent-Length: 5', 'HTTP/1.1 415 Unsupported Media Type'],
    ['Content-Type: application/json\r\nContent-Length: 99000000000', 'HTTP/1.1 413 Payload Too Large'],
  ])(promise('body.continue', 'refused headers: %j'), async (headers, status) => {
    expect(await expecting(headers)).toEqual([status]);
  });

  it(promise('host.routes', 'also for a body that waits for 100 Continue'), async () => {
    const headers = 'Content-Type: application/json\r\nContent-Length: 2';
    expect(await expecting(headers, '{}', '/notes')).toEqual([
      'HTTP/1.1 100 Continue',
      'HTTP/1.1 201 Created',
    ]);
  });

  it(promise('status.guard', 'also for a body that waits for 100 Continue'), async () => {
    await host.close();
    host = await startHost(adapter, QueryModule.forRoot({ handler: (query) => answer(query) }), (app) =>
      app.useGlobalGuards(new TokenGuard()),
    );
    expect(await expecting('Content-Type: application/json\r\nContent-Length: 5')).toEqual([
      'HTTP/1.1 403 Forbidden',
    ]);
  });
});
