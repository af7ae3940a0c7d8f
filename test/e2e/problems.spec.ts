import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  type CanActivate,
  type ExecutionContext,
  ConflictException,
  ForbiddenException,
  HttpException,
  type INestApplication,
  UnauthorizedException,
} from '@nestjs/common';
import { message, type QueryModuleOptions } from '../../src/index.js';
import { promise } from '../promises.js';
import { type RequestOptions, ask, type Body, request } from '../support/client.js';
import { deferred } from '../support/conditions.js';
import { describeOnBothAdapters, type Host, startAgent } from '../support/host.js';

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

/** What is refused, and the complete response. */
type Refused = [name: string, options: RequestOptions, body: () => Body, problem: string];

const FAULTS: Refused[] = [
  [
    'a body that is not JSON',
    {},
    () => '{"parts":[',
    '{"type":"about:blank","title":"Bad Request","status":400,"detail":"The body is not JSON: at byte 10, expected a value or \\"]\\", found the end of the body.","code":"invalid_json"}',
  ],
  [
    'a query without parts',
    {},
    () => '{}',
    '{"type":"about:blank","title":"Bad Request","status":400,"detail":"\\"/parts\\" must be an array of parts.","code":"invalid_query","errors":[{"pointer":"/parts","detail":"must be an array of parts"}]}',
  ],
  [
    'several faults, which are listed at once',
    {},
    () => '{"parts":[{"type":"text"},{"type":"file","name":"","mimeType":"text","base64":"?"}],"kwargs":[]}',
    '{"type":"about:blank","title":"Bad Request","status":400,"detail":"\\"/parts/0/text\\" must be a string (and 4 more).","code":"invalid_query","errors":[{"pointer":"/parts/0/text","detail":"must be a string"},{"pointer":"/parts/1/name","detail":"must not be empty"},{"pointer":"/parts/1/mimeType","detail":"must be a media type such as \\"text/csv\\", at most 255 characters long"},{"pointer":"/parts/1/base64","detail":"has a character \\"?\\" that is not of the base64 alphabet (at offset 0)"},{"pointer":"/kwargs","detail":"must be an object"}]}',
  ],
  [
    'a run that is not known',
    { method: 'GET', path: '/query/nobody' },
    () => '',
    '{"type":"about:blank","title":"Not Found","status":404,"detail":"There is no such run, or it is no longer kept.","code":"not_found"}',
  ],
];

const EXCEEDED: Refused[] = [
  [
    'a file over its limit, before it has ended',
    {},
    () => endless('{"parts":[{"type":"text","text":"x"},{"type":"file","base64":"'),
    '{"type":"about:blank","title":"Payload Too Large","status":413,"detail":"Part 1: The file is larger than 3000000 bytes.","code":"limit_exceeded","limit":"fileBytes","value":3000000,"part":1}',
  ],
  [
    'files over their limit together',
    {},
    () => JSON.stringify({ parts: [file('A'.repeat(3e6)), file('A'.repeat(3e6))] }),
    '{"type":"about:blank","title":"Payload Too Large","status":413,"detail":"Part 1: The files are larger than 4000000 bytes together.","code":"limit_exceeded","limit":"filesBytes","value":4000000,"part":1}',
  ],
  [
    'a text over its limit',
    {},
    () => query({ type: 'text', text: 'é'.repeat(501) }),
    '{"type":"about:blank","title":"Payload Too Large","status":413,"detail":"Part 0: The text is longer than 1000 bytes.","code":"limit_exceeded","limit":"textBytes","value":1000,"part":0}',
  ],
  [
    'a document over its limit, before it has ended',
    {},
    () => endless('{"kwargs":{"a":"'),
    '{"type":"about:blank","title":"Payload Too Large","status":413,"detail":"The body has more than 5000 bytes besides the content of its files.","code":"limit_exceeded","limit":"documentBytes","value":5000}',
  ],
  [
    'more parts than may be',
    {},
    () => JSON.stringify({ parts: Array.from({ length: 4 }, () => ({ type: 'text', text: '' })) }),
    '{"type":"about:blank","title":"Payload Too Large","status":413,"detail":"Part 3: The query has more than 3 parts.","code":"limit_exceeded","limit":"parts","value":3,"part":3}',
  ],
  [
    'a body that is nested too deep',
    {},
    () => `{"kwargs":{"a":${'['.repeat(9)}`,
    '{"type":"about:blank","title":"Payload Too Large","status":413,"detail":"The body nests arrays and objects more than 10 deep.","code":"limit_exceeded","limit":"depth","value":10}',
  ],
];

const UNSUPPORTED: Refused[] = [
  [
    'another content type',
    { headers: { 'content-type': 'text/plain' } },
    () => query({ type: 'text', text: 'Hello' }),
    '{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"The body must be sent as Content-Type: application/json. The request has \\"text/plain\\".","code":"unsupported_media_type"}',
  ],
  [
    'another charset than UTF-8',
    { headers: { 'content-type': 'application/json; charset=utf-16' } },
    () => query({ type: 'text', text: 'Hello' }),
    '{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"The body must be sent as Content-Type: application/json. The request has \\"application/json; charset=utf-16\\".","code":"unsupported_media_type"}',
  ],
  [
    'a content encoding that is not read',
    { headers: { 'content-encoding': 'zstd' } },
    () => query({ type: 'text', text: 'Hello' }),
    '{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"The content encoding \\"zstd\\" is not read; send gzip, deflate, br or none.","code":"unsupported_encoding"}',
  ],
];

const LIMITS = { fileBytes: 3e6, filesBytes: 4e6, textBytes: 1000, documentBytes: 5000, parts: 3, depth: 10 };

describeOnBothAdapters('On %s', (adapter) => {
  let host: Host;
  beforeAll(async () => (host = await startAgent(adapter, greet, { limits: LIMITS })));
  afterAll(() => host.close());

  const expectRefusal = async (options: RequestOptions, body: Body, problem: string) => {
    const reply = await request(host.url, options, body);
    expect(await reply.whole()).toBe(problem);
    expect(reply.status).toBe(JSON.parse(problem).status);
    expect(reply.headers['content-type']).toBe('application/problem+json');
    expect(reply.headers['cache-control']).toBe('no-store, no-transform');
    expect(await (await ask(host.url)).answer()).toEqual({ text: 'Hi', done: [{ status: 'completed' }] });
  };

  it.each(FAULTS)(promise('status.problem', '%s'), (_, options, body, problem) =>
    expectRefusal(options, body(), problem),
  );

  it.each(EXCEEDED)(promise('limit.problem', '%s'), (_, options, body, problem) =>
    expectRefusal(options, body(), problem),
  );

  it.each(UNSUPPORTED)(promise('status.unsupported', '%s'), (_, options, body, problem) =>
    expectRefusal(options, body(), problem),
  );

  it(promise('limit.while-arriving', 'a Content-Length that cannot fit'), async () => {
    const headers = { 'content-length': 64e6 };
    const answer = await request(host.url, { headers }, endless('{"parts":[{"type":"file","base64":"'));
    expect(await answer.whole()).toBe(
      '{"type":"about:blank","title":"Payload Too Large","status":413,"detail":"The files are larger than 4000000 bytes together.","code":"limit_exceeded","limit":"filesBytes","value":4000000}',
    );
  });
});

describeOnBothAdapters('A caller on %s', (adapter) => {
  it(promise('status.late-reader'), async () => {
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

/** As that of `@nestjs/throttler`. */
class ThrottlerException extends HttpException {
  constructor() {
    super('ThrottlerException: Too Many Requests', 429);
  }
}

class QuotaException extends HttpException {
  constructor() {
    super({ quota: 0 }, 402);
  }
}

class CredentialGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (headers['authorization'] === undefined) throw new UnauthorizedException('Who are you?');
    if (headers['authorization'] === 'guest') throw new ForbiddenException();
    if (headers['authorization'] === 'busy') throw new ConflictException('Your account is locked.');
    if (headers['authorization'] === 'poor') throw new HttpException('Pay first.', 402);
    if (headers['authorization'] === 'fast') throw new ThrottlerException();
    if (headers['authorization'] === 'spent') throw new QuotaException();
    if (headers['authorization'] === 'old')
      throw new UnauthorizedException('TokenExpiredError: Your token has expired.');
    return headers['authorization'] === 'member';
  }
}

describeOnBothAdapters('Behind a guard of the host on %s', (adapter) => {
  const withGuard = (app: INestApplication) => void app.useGlobalGuards(new CredentialGuard());

  it.each([
    [
      {},
      '{"type":"about:blank","title":"Unauthorized","status":401,"detail":"Who are you?","code":"unauthorized"}',
    ],
    [
      { authorization: 'guest' },
      '{"type":"about:blank","title":"Forbidden","status":403,"detail":"Forbidden","code":"forbidden"}',
    ],
    [
      { authorization: 'busy' },
      '{"type":"about:blank","title":"Conflict","status":409,"detail":"Your account is locked.","code":"refused"}',
    ],
    [
      { authorization: 'poor' },
      '{"type":"about:blank","title":"Payment Required","status":402,"detail":"Pay first.","code":"refused"}',
    ],
    [
      { authorization: 'fast' },
      '{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"There were too many requests. Try again later.","code":"rate_limited"}',
    ],
    [
      { authorization: 'spent' },
      '{"type":"about:blank","title":"Payment Required","status":402,"detail":"The application has refused the request: Payment Required.","code":"refused"}',
    ],
    [
      { authorization: 'old' },
      '{"type":"about:blank","title":"Unauthorized","status":401,"detail":"Your token has expired.","code":"unauthorized"}',
    ],
    [
      { authorization: 'stranger' },
      '{"type":"about:blank","title":"Forbidden","status":403,"detail":"Forbidden resource","code":"forbidden"}',
    ],
  ])(promise('status.guard', '%j'), async (headers, problem) => {
    const host = await startAgent(adapter, greet, {}, withGuard);
    const answer = await request(host.url, { headers }, endless('{"parts":[{"type":"file","base64":"'));
    expect(await answer.whole()).toBe(problem);
    expect(answer.status).toBe(JSON.parse(problem).status);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect((await ask(host.url, 'Hello', { headers: { authorization: 'member' } })).status).toBe(200);
    await host.close();
  });
});

describeOnBothAdapters('A busy service on %s', (adapter) => {
  it(promise('capacity.refuse', 'then takes queries as before'), async () => {
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
      '{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"The service is at capacity: all its slots are taken, and 1 runs are waiting. Try again later.","code":"at_capacity"}',
    );
    finish.resolve();
    await Promise.all([first.whole(), second.whole()]);
    expect((await ask(host.url)).status).toBe(200);
    await host.close();
  });

  it(promise('run.respond-async'), async () => {
    const host = await startAgent(adapter, greet);
    const answer = await ask(host.url, 'Hello', { headers: { prefer: 'respond-async' } });
    const run = JSON.parse(await answer.whole());
    expect(answer.status).toBe(202);
    expect(answer.headers['location']).toBe(`/query/${run.id}`);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    await host.close();
  });

  it(promise('limit.no-progress'), async () => {
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
      '{"type":"about:blank","title":"Request Timeout","status":408,"detail":"Nothing of the body came for 30 ms.","code":"body_timeout"}',
    );
    expect(answer.status).toBe(408);
    await host.close();
  });
});
