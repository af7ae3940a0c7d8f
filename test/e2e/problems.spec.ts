import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  type INestApplication,
  UnauthorizedException,
} from '@nestjs/common';
import { message, type QueryModuleOptions } from '../../src/index.js';
import { type Asking, ask, type Body, request } from '../support/raw-client.js';
import { deferred } from '../support/conditions.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';

async function* greet() {
  yield message('Hi');
}

/** One megabyte after another, without an end. */
async function* endless(opening: string) {
  yield opening;
  for (;;) yield 'QUJD'.repeat(256 * 1024);
}

const query = (part: object) => JSON.stringify({ parts: [part] });
const file = (base64: string) => ({ type: 'file', name: 'a.txt', mimeType: 'text/plain', base64 });

/** What is refused, and the complete answer. */
const ROWS: [string, Asking, () => Body, string][] = [
  [
    'a body that is not JSON',
    {},
    () => '{"parts":[',
    '{"type":"about:blank","title":"The body is not JSON","status":400,"detail":"The body is not JSON: at byte 10, expected a value or \\"]\\", found the end of the body.","code":"invalid_json"}',
  ],
  [
    'a query without parts',
    {},
    () => '{}',
    '{"type":"about:blank","title":"The query is not valid","status":400,"detail":"\\"/parts\\" must be an array of parts.","code":"invalid_query","errors":[{"pointer":"/parts","detail":"must be an array of parts"}]}',
  ],
  [
    'several faults, which are listed at once',
    {},
    () => '{"parts":[{"type":"text"},{"type":"file","name":"","mimeType":"text","base64":"?"}],"kwargs":[]}',
    '{"type":"about:blank","title":"The query is not valid","status":400,"detail":"\\"/parts/0/text\\" must be a string (and 4 more).","code":"invalid_query","errors":[{"pointer":"/parts/0/text","detail":"must be a string"},{"pointer":"/parts/1/name","detail":"must not be empty"},{"pointer":"/parts/1/mimeType","detail":"must be a media type such as \\"text/csv\\", at most 255 characters long"},{"pointer":"/parts/1/base64","detail":"has a character \\"?\\" that is not of the base64 alphabet (at offset 0)"},{"pointer":"/kwargs","detail":"must be an object"}]}',
  ],
  [
    'a run that is not known',
    { method: 'GET', path: '/query/nobody' },
    () => '',
    '{"type":"about:blank","title":"There is nothing here","status":404,"detail":"There is no such run, or it is no longer kept.","code":"not_found"}',
  ],
  [
    'a file over its limit, before it has ended',
    {},
    () => endless('{"parts":[{"type":"text","text":"x"},{"type":"file","base64":"'),
    '{"type":"about:blank","title":"A limit is passed","status":413,"detail":"Part 1: The file is larger than 3000000 bytes.","code":"limit_exceeded","limit":"fileBytes","value":3000000,"part":1}',
  ],
  [
    'files over their limit together',
    {},
    () => JSON.stringify({ parts: [file('A'.repeat(3e6)), file('A'.repeat(3e6))] }),
    '{"type":"about:blank","title":"A limit is passed","status":413,"detail":"Part 1: The files are larger than 4000000 bytes together.","code":"limit_exceeded","limit":"filesBytes","value":4000000,"part":1}',
  ],
  [
    'a text over its limit',
    {},
    () => query({ type: 'text', text: 'é'.repeat(501) }),
    '{"type":"about:blank","title":"A limit is passed","status":413,"detail":"Part 0: The text is longer than 1000 bytes.","code":"limit_exceeded","limit":"textBytes","value":1000,"part":0}',
  ],
  [
    'a document over its limit, before it has ended',
    {},
    () => endless('{"kwargs":{"a":"'),
    '{"type":"about:blank","title":"A limit is passed","status":413,"detail":"The body has more than 5000 bytes besides the content of its files.","code":"limit_exceeded","limit":"documentBytes","value":5000}',
  ],
  [
    'more parts than may be',
    {},
    () => JSON.stringify({ parts: Array.from({ length: 4 }, () => ({ type: 'text', text: '' })) }),
    '{"type":"about:blank","title":"A limit is passed","status":413,"detail":"Part 3: The query has more than 3 parts.","code":"limit_exceeded","limit":"parts","value":3,"part":3}',
  ],
  [
    'a body that is nested too deep',
    {},
    () => `{"kwargs":{"a":${'['.repeat(9)}`,
    '{"type":"about:blank","title":"A limit is passed","status":413,"detail":"The body nests arrays and objects more than 10 deep.","code":"limit_exceeded","limit":"depth","value":10}',
  ],
  [
    'another content type',
    { headers: { 'content-type': 'text/plain' } },
    () => query({ type: 'text', text: 'Hello' }),
    '{"type":"about:blank","title":"The content type is not read","status":415,"detail":"The body must be sent as Content-Type: application/json; not \\"text/plain\\".","code":"unsupported_media_type"}',
  ],
  [
    'another charset than UTF-8',
    { headers: { 'content-type': 'application/json; charset=utf-16' } },
    () => query({ type: 'text', text: 'Hello' }),
    '{"type":"about:blank","title":"The content type is not read","status":415,"detail":"The body must be sent as Content-Type: application/json; not \\"application/json; charset=utf-16\\".","code":"unsupported_media_type"}',
  ],
  [
    'a content encoding that is not read',
    { headers: { 'content-encoding': 'zstd' } },
    () => query({ type: 'text', text: 'Hello' }),
    '{"type":"about:blank","title":"The content encoding is not read","status":415,"detail":"The content encoding \\"zstd\\" is not read; send gzip, deflate, br or none.","code":"unsupported_encoding"}',
  ],
];

const LIMITS = { fileBytes: 3e6, filesBytes: 4e6, textBytes: 1000, documentBytes: 5000, parts: 3, depth: 10 };

describe.each(ADAPTERS)('On %s', (adapter) => {
  let host: Host;
  beforeAll(async () => (host = await startAgent(adapter, greet, { limits: LIMITS })));
  afterAll(() => host.close());

  it.each(ROWS)(
    '%s: the problem says so, and the next query is answered',
    async (_, asking, body, problem) => {
      const answer = await request(host.url, asking, body());
      expect(await answer.whole()).toBe(problem);
      expect(answer.status).toBe(JSON.parse(problem).status);
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(answer.headers['cache-control']).toBe('no-store, no-transform');
      expect((await (await ask(host.url)).whole()).endsWith('{"status":"completed"}}\n\n')).toBe(true);
    },
  );

  it('a file that cannot fit is refused by its length alone', async () => {
    const headers = { 'content-length': 64e6 };
    const answer = await request(host.url, { headers }, endless('{"parts":[{"type":"file","base64":"'));
    expect(await answer.whole()).toBe(
      '{"type":"about:blank","title":"A limit is passed","status":413,"detail":"The files are larger than 4000000 bytes together.","code":"limit_exceeded","limit":"filesBytes","value":4000000}',
    );
  });
});

describe.each(ADAPTERS)('A caller on %s', (adapter) => {
  it('that reads nothing before it has sent all reads why it was refused', async () => {
    const host = await startAgent(adapter, greet, { limits: LIMITS });
    const socket = connect(Number(new URL(host.url).port), '127.0.0.1');
    const length = 40e6;
    socket.write(
      `POST /query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
    );
    await new Promise<void>((resolve) => socket.write('['.repeat(length), () => resolve()));
    expect((await text(socket)).split('\r\n', 1)[0]).toBe('HTTP/1.1 413 Payload Too Large');
    await host.close();
  });
});

class Door implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (headers['authorization'] === undefined) throw new UnauthorizedException('Who are you?');
    if (headers['authorization'] === 'guest') throw new ForbiddenException();
    return headers['authorization'] === 'friend';
  }
}

describe.each(ADAPTERS)('Behind a guard of the host on %s', (adapter) => {
  const behindDoor = (app: INestApplication) => void app.useGlobalGuards(new Door());

  it.each([
    [
      {},
      '{"type":"about:blank","title":"A credential is needed","status":401,"detail":"Who are you?","code":"unauthorized"}',
    ],
    [
      { authorization: 'guest' },
      '{"type":"about:blank","title":"The credential is not sufficient","status":403,"detail":"Forbidden","code":"forbidden"}',
    ],
    [
      { authorization: 'stranger' },
      '{"type":"about:blank","title":"The credential is not sufficient","status":403,"detail":"Forbidden resource","code":"forbidden"}',
    ],
  ])('a query with %j is refused before its body is read', async (headers, problem) => {
    const host = await startAgent(adapter, greet, {}, behindDoor);
    const answer = await request(host.url, { headers }, endless('{"parts":[{"type":"file","base64":"'));
    expect(await answer.whole()).toBe(problem);
    expect(answer.status).toBe(JSON.parse(problem).status);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect((await ask(host.url, 'Hello', { headers: { authorization: 'friend' } })).status).toBe(200);
    await host.close();
  });
});

describe.each(ADAPTERS)('A busy service on %s', (adapter) => {
  it('at capacity refuses with 503 and says when to come again, and then takes queries as before', async () => {
    const finish = deferred();
    const slow: QueryModuleOptions['handler'] = async function* () {
      yield message('Hi');
      await finish.promise;
    };
    const host = await startAgent(adapter, slow, { runs: { maxRunning: 1, maxWaiting: 1 } });
    const first = await ask(host.url);
    const second = await ask(host.url);
    const third = await ask(host.url);
    expect(third.status).toBe(503);
    expect(third.headers['retry-after']).toBe('5');
    expect(third.headers['content-type']).toBe('application/problem+json');
    expect(await third.whole()).toBe(
      '{"type":"about:blank","title":"The service is at capacity","status":503,"detail":"1 runs are under way and 1 are waiting, as many as may. Try again later.","code":"at_capacity"}',
    );
    finish.resolve();
    await Promise.all([first.whole(), second.whole()]);
    expect((await ask(host.url)).status).toBe(200);
    await host.close();
  });

  it('that is asked to respond asynchronously names the run with 202 and streams nothing', async () => {
    const host = await startAgent(adapter, greet);
    const answer = await ask(host.url, 'Hello', { headers: { prefer: 'respond-async' } });
    const run = JSON.parse(await answer.whole());
    expect(answer.status).toBe(202);
    expect(answer.headers['location']).toBe(`/query/${run.id}`);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    await host.close();
  });

  it('that waits too long for the rest of a body gives up with 408', async () => {
    const host = await startAgent(adapter, greet, { limits: { idleMs: 30 } });
    const rest = deferred();
    const answer = await request(
      host.url,
      {},
      (async function* () {
        yield '{"parts":[';
        await rest.promise;
      })(),
    );
    rest.resolve();
    expect(await answer.whole()).toBe(
      '{"type":"about:blank","title":"The body did not arrive in time","status":408,"detail":"Nothing of the body came for 30 ms.","code":"body_timeout"}',
    );
    expect(answer.status).toBe(408);
    await host.close();
  });
});
