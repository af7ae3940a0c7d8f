import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:net';
import type { NextFunction, Request, Response } from 'express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { NestFactory } from '@nestjs/core';
import { message, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { describeOnBothAdapters, type Host, listen, startAgent } from '../support/host.js';
import { ask } from '../support/client.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const LONG = 'x'.repeat(100_000);

async function* greet() {
  yield message('Grüße');
  await new Promise((resolve) => setImmediate(resolve));
  yield message(LONG);
}

const BODY = JSON.stringify({ parts: [{ type: 'text', text: 'Hello' }] });
const GREETING = 'data: {"type":"message","data":{"content":"Grüße"}}\n\n';
const ANSWER =
  GREETING +
  `data: {"type":"message","data":{"content":"${LONG}"}}\n\n` +
  'data: {"type":"done","data":{"status":"completed"}}\n\n';

const head = (line: string) =>
  `${line}\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`;

/** Writes bytes to a connection, and reads until the server closes it. */
async function exchange(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(text);
  const received: Buffer[] = [];
  for await (const bytes of socket) received.push(bytes as Buffer);
  return Buffer.concat(received).toString();
}

/** The body of a response in chunks (RFC 9112 §7.1), and the bytes after it. */
function unchunked(text: string): { body: string; rest: string } {
  let rest = Buffer.from(text);
  let body = '';
  for (;;) {
    const end = rest.indexOf('\r\n');
    const size = Number.parseInt(rest.subarray(0, end).toString(), 16);
    const chunk = rest.subarray(end + 2, end + 2 + size);
    expect(rest.subarray(end + 2 + size, end + 4 + size).toString()).toBe('\r\n');
    rest = rest.subarray(end + 4 + size);
    body += chunk.toString();
    if (size === 0) return { body, rest: rest.toString() };
  }
}

const afterHead = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4);

describeOnBothAdapters('A stream on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => (host = await startAgent(adapter, greet)));
  afterAll(() => host.close());

  it(promise('http.1.1'), async () => {
    const text = await exchange(host.url, `${head('POST /query HTTP/1.1')}Connection: close\r\n\r\n${BODY}`);
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(afterHead(text)).toMatch(/^37\r\ndata: {"type":"message","data":{"content":"Grüße"}}\n\n\r\n/);
    expect(unchunked(afterHead(text))).toEqual({ body: ANSWER, rest: '' });
  });

  it(promise('http.1.0'), async () => {
    const text = await exchange(host.url, `${head('POST /query HTTP/1.0')}\r\n${BODY}`);
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(afterHead(text)).toBe(ANSWER);
  });

  it(promise('http.pipelining'), async () => {
    const first = `${head('POST /query HTTP/1.1')}\r\n${BODY}`;
    const last = `${head('POST /query HTTP/1.1')}Connection: close\r\n\r\n${BODY}`;
    let text = await exchange(host.url, first + first + last);
    for (let i = 0; i < 3; i++) {
      expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/);
      const { body, rest } = unchunked(afterHead(text));
      expect(body).toBe(ANSWER);
      text = rest;
    }
    expect(text).toBe('');
  });

  it(promise('http.pipelining', 'and not at all if the connection is closed before'), async () => {
    const agent = new ScriptedAgent();
    const scripted = await startAgent(adapter, agent.handler, { runs: { disconnect: 'cancel' } });
    const socket = connect(Number(new URL(scripted.url).port), '127.0.0.1');
    const query = `${head('POST /query HTTP/1.1')}\r\n${BODY}`;
    socket.write(query + query + query);
    const first = await agent.call(1);
    // This query comes later, and is executed at once.
    const other = await ask(scripted.url, 'other');
    expect((await agent.call(2)).text).toBe('other');
    first.finish();
    const second = await agent.call(3);
    expect(agent.calls.map(({ text }) => text)).toEqual(['Hello', 'other', 'Hello']);
    socket.destroy();
    await second.stopped;
    (await agent.call(2)).finish();
    await other.whole();
    await scripted.idle();
    expect(agent.calls).toHaveLength(3);
    await scripted.close();
  });

  it(promise('http.head'), async () => {
    const done = await ask(host.url);
    await done.whole();
    const path = done.headers['content-location'];
    const line = `HEAD ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nConnection: close\r\n\r\n`;
    expect(await exchange(host.url, line)).toMatch(/^HTTP\/1.1 200 OK\r\n(?:[^\r\n]+\r\n)+\r\n$/);
  });
});

describe('A host with middleware that changes responses', () => {
  it(promise('host.middleware'), async () => {
    let written = '';
    const watch = (_: Request, response: Response, next: NextFunction) => {
      const write = response.write.bind(response) as (chunk: string, encoding: BufferEncoding) => boolean;
      response.write = ((chunk: string, encoding: BufferEncoding) => {
        written += Buffer.from(chunk, encoding).toString();
        return write(chunk, encoding);
      }) as typeof response.write;
      next();
    };
    const host = await startAgent('express', greet, {}, (app) => app.use(watch));
    expect(await (await ask(host.url)).whole()).toBe(ANSWER);
    expect(written).toBe(ANSWER);
    await host.close();
  });
});

describe('A stream on a host with HTTP/2', () => {
  it(promise('http.2'), async () => {
    const module = QueryModule.forRoot({ handler: greet });
    const app = await NestFactory.create(module, new FastifyAdapter({ http2: true }), { logger: false });
    const host = await listen(app);
    const client = http2.connect(host.url);
    const stream = client.request({
      ':method': 'POST',
      ':path': '/query',
      'content-type': 'application/json',
      accept: 'text/event-stream',
    });
    stream.end(BODY);
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
    expect(headers[':status']).toBe(200);
    let text = '';
    for await (const bytes of stream.setEncoding('utf8')) text += bytes as string;
    expect(text.replace(/^id: .*\n/gm, '')).toBe(`retry: 1000\n${ANSWER}`);
    client.close();
    await host.close();
  });
});
