import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Body, Controller, Module, Post, VersioningType } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { json, type NextFunction, type Request, type Response } from 'express';
import { message, type Query, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { type AdapterName, type Configure, describeOnBothAdapters, startHost } from '../support/host.js';
import { request } from '../support/client.js';
import { OperatorLog } from '../support/operator-log.js';

const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
const says = (content: string) => `data: {"type":"message","data":{"content":"${content}"}}\n\n` + DONE;

@Controller('notes')
class NotesController {
  @Post()
  make(@Body() note: { text: string }) {
    return { length: note.text.length };
  }
}

/** Emits the SHA-256 of each file, and the text of each text part. */
async function* tell({ parts }: Query) {
  for (const part of parts) {
    if (part.type === 'text') {
      yield message(part.text);
      continue;
    }
    const hash = createHash('sha256');
    for await (const chunk of part.file.stream()) hash.update(chunk);
    yield message(`${part.name} ${part.file.size} ${hash.digest('hex')}`);
  }
}

function start(adapter: AdapterName, configure?: Configure) {
  @Module({ imports: [QueryModule.forRoot({ handler: tell })], controllers: [NotesController] })
  class OwnModule {}
  return startHost(adapter, OwnModule, configure);
}

const small = JSON.stringify({
  parts: [
    { type: 'file', name: 'a.txt', mimeType: 'text/plain', base64: 'QUJD' },
    { type: 'text', text: 'Hello' },
  ],
});
const SMALL =
  'data: {"type":"message","data":{"content":"a.txt 3 b5d4045c3f466fa91fe2cc6abe79232a1a57cdf104f7a26e716e0a1e2789df78"}}\n\n' +
  says('Hello');

/** A query with a file of 64 MB, in pieces. */
async function* large() {
  yield '{"parts":[{"type":"file","name":"big.bin","mimeType":"application/octet-stream","base64":"';
  const megabyte = Buffer.alloc(999_999, 'nest').toString('base64');
  for (let n = 0; n < 64; n++) yield megabyte;
  yield '"}]}';
}

function digestOfLarge(): string {
  const hash = createHash('sha256');
  for (let n = 0; n < 64; n++) hash.update(Buffer.alloc(999_999, 'nest'));
  return hash.digest('hex');
}

describeOnBothAdapters('In a host with default settings on %s', (adapter) => {
  it(promise('host.large-bodies', '64 MB'), async () => {
    const host = await start(adapter);
    const answer = await request(host.url, {}, large());
    expect(await answer.whole()).toBe(says(`big.bin 63999936 ${digestOfLarge()}`));
    const make = (text: string) => request(host.url, { path: '/notes' }, JSON.stringify({ text }));
    const made = await make('Hello');
    expect([made.status, await made.whole()]).toEqual([201, '{"length":5}']);
    expect((await make('x'.repeat(2e6))).status).toBe(413);
    expect((await request(host.url, { path: '/notes' }, '{')).status).toBe(400);
    await host.close();
  });

  it(promise('host.large-bodies', '200 kB under a global prefix and a version in the path'), async () => {
    const host = await start(adapter, (app) => {
      app.setGlobalPrefix('api');
      app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
    });
    const text = 'x'.repeat(200_000);
    const body = JSON.stringify({ parts: [{ type: 'text', text }] });
    expect(await (await request(host.url, { path: '/api/v1/query' }, body)).whole()).toBe(says(text));
    await host.close();
  });

  it(promise('body.compressed', 'in a host with default settings'), async () => {
    const host = await start(adapter);
    const headers = { 'content-encoding': 'gzip' };
    expect(await (await request(host.url, { headers }, gzipSync(small))).whole()).toBe(SMALL);
    await host.close();
  });
});

/** A middleware that reads the body of every request before Nest. */
const parseAll = (): ((request: Request, response: Response, next: NextFunction) => void) => {
  const parse = json({ limit: '1mb' });
  return (request, response, next) => parse(request, response, next);
};

describeOnBothAdapters('In a host on %s', (adapter) => {
  it.each<[string, Configure]>([
    ['a parser of its own for all routes', (app) => void app.use(json({ limit: '10mb' }))],
    ['a parser inside its own middleware', (app) => void app.use(parseAll())],
    [
      'a larger limit for its own parser',
      (app) =>
        adapter === 'express'
          ? (app as NestExpressApplication).useBodyParser('json', { limit: '10mb' })
          : (app as NestFastifyApplication).useBodyParser('application/json', { bodyLimit: 10e6 }),
    ],
  ])(promise('host.parsers', '%s'), async (_, configure) => {
    const host = await start(adapter, configure);
    expect(await (await request(host.url, {}, small)).whole()).toBe(SMALL);
    const wrong = small.replace('QUJD', 'QU?D');
    const refused = await request(host.url, {}, wrong);
    expect(refused.status).toBe(400);
    expect(JSON.parse(await refused.whole()).errors).toEqual([
      {
        pointer: '/parts/0/base64',
        detail: 'has a character "?" that is not of the base64 alphabet (at offset 2)',
      },
    ]);
    await host.close();
  });

  it(promise('host.parsers', 'of which the operator is told once'), async () => {
    const host = await start(adapter, (app) => void app.use(parseAll()));
    const log = OperatorLog.of(host.app);
    for (let i = 0; i < 2; i++) expect(await (await request(host.url, {}, small)).whole()).toBe(SMALL);
    expect(log.troubles).toEqual([
      'warn The host has parsed the body of a query before its endpoint could read it: the limits of that parser hold too. If the ' +
        'host is bundled, let the bundler keep the names of functions, by which the parsers of Express are found. Query',
    ]);
    await host.close();
  });

  it.each([
    ['without a body', 'application/json', ''],
    ['with a body that is no JSON', 'application/json', '{'],
    ['with a body of another type', 'text/plain', 'x'],
  ])(promise('cancel.body', '%s'), async (_, type, body) => {
    const host = await start(adapter);
    const { runId } = await request(host.url, {}, small).then(
      async (answer) => (await answer.whole(), answer),
    );
    for (const method of ['DELETE', 'GET']) {
      const headers = { 'content-type': type, 'content-length': body.length };
      const response = await request(host.url, { method, path: `/query/${runId}`, headers }, body);
      expect([method, response.status, (await response.json<{ id: string }>()).id]).toEqual([
        method,
        200,
        runId,
      ]);
    }
    await host.close();
  });
});
