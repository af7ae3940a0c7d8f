import {
  type CallHandler,
  ClassSerializerInterceptor,
  type ExecutionContext,
  type NestInterceptor,
  ServiceUnavailableException,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { map, of, retry, tap, timeout } from 'rxjs';
import { file, message, QueryError, type QueryModuleOptions } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, FULL, get, request, type Reply } from '../support/client.js';
import { deferred } from '../support/conditions.js';
import { describeOnBothAdapters, type Host, startAgent } from '../support/host.js';
import { OperatorLog } from '../support/operator-log.js';

type Request = { method: string; originalUrl: string };
const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest<Request>();

/** Keeps what `GET` requests are answered, as that of `@nestjs/cache-manager` does. */
class CacheInterceptor implements NestInterceptor {
  readonly #kept = new Map<string, unknown>();

  intercept(context: ExecutionContext, next: CallHandler) {
    const { method, originalUrl } = requestOf(context);
    const kept = this.#kept.get(originalUrl);
    if (kept !== undefined && kept !== null) return of(kept);
    const keep = (answer: unknown) => void (method === 'GET' && this.#kept.set(originalUrl, answer));
    return next.handle().pipe(tap(keep));
  }
}

const wrapping: NestInterceptor = {
  intercept: (_, next) => next.handle().pipe(map((data: unknown) => ({ data }))),
};

describeOnBothAdapters('Interceptors of a host on %s', (adapter) => {
  let host: Host;
  const start = async (interceptors: NestInterceptor[], options: Partial<QueryModuleOptions> = {}) => {
    const handler = async function* () {
      yield message('Hi');
      yield file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('a') });
    };
    host = await startAgent(adapter, handler, options, (app) => app.useGlobalInterceptors(...interceptors));
    return OperatorLog.of(host.app);
  };
  afterEach(() => host.close());

  /** A request of each kind of route, to a run that has ended. */
  async function requestsOf(url: string): Promise<(() => Promise<Reply>)[]> {
    const asked = await ask(url, 'Hello', { kwargs: { session_id: 's' } });
    const [, sha256] = /"sha256":"(\w+)"/.exec(await asked.whole())!;
    const run = `/query/${asked.runId}`;
    const paths = [
      run,
      '/query',
      '/query/sessions',
      '/query/sessions/s',
      `${run}/files/${sha256}`,
      '/query/none',
    ];
    return [
      ...paths.map((path) => () => get(url, path)),
      () => get(url, run, FULL),
      () => ask(url),
      () => request(url, { method: 'DELETE', path: run }),
      () => request(url, { path: '/query/files', headers: { 'content-type': 'text/plain' } }, 'a'),
    ];
  }

  const statusesOf = async (requests: (() => Promise<Reply>)[]) => {
    const statuses: number[] = [];
    for (const send of requests) {
      const reply = await send();
      await reply.whole();
      statuses.push(reply.status);
    }
    return statuses;
  };
  const STATUSES = [200, 200, 200, 200, 200, 404, 200, 200, 200, 201];

  it(promise('host.interceptors-answer', 'one that keeps answers'), async () => {
    const log = await start([new CacheInterceptor()]);
    const requests = await requestsOf(host.url);
    const answers = async () => {
      const texts: string[] = [];
      for (const send of requests.slice(0, 7)) texts.push(await (await send()).whole());
      return texts;
    };
    const first = await answers();
    expect(await answers()).toEqual(first);
    expect(log.troubles).toEqual([]);
  });

  it(promise('host.interceptors-answer', 'one that keeps answers that another one wraps'), async () => {
    const log = await start([new CacheInterceptor(), wrapping]);
    const requests = await requestsOf(host.url);
    expect(await statusesOf(requests)).toEqual(STATUSES);
    // What was kept is sent, although it is not what the endpoint has sent.
    expect(await (await requests[0]!()).whole()).toBe('{}');
    expect(await statusesOf(requests)).toEqual(STATUSES);
    expect(log.troubles).toEqual([]);
  });

  it(promise('host.interceptors-answer', 'one that answers in place of the endpoint'), async () => {
    let isClosed = false;
    const notice = {
      intercept: (_: unknown, next: CallHandler) => (isClosed ? of({ closed: true }) : next.handle()),
    };
    const log = await start([notice as NestInterceptor]);
    const requests = await requestsOf(host.url);
    isClosed = true;
    for (const send of requests) expect(await (await send()).whole()).toBe('{"closed":true}');
    isClosed = false;
    expect(await statusesOf(requests)).toEqual(STATUSES);
    expect(log.troubles).toEqual([]);
  });

  it(promise('host.interceptors-answer', 'one that refuses'), async () => {
    let isClosed = false;
    const quota: NestInterceptor = {
      intercept: (_, next) => {
        if (isClosed) throw new ServiceUnavailableException('Closed.');
        return next.handle();
      },
    };
    await start([quota]);
    const requests = await requestsOf(host.url);
    isClosed = true;
    expect(await statusesOf(requests)).toEqual(requests.map(() => 503));
  });

  it(promise('host.interceptors-answer', 'one that serializes'), async () => {
    const log = await start([new ClassSerializerInterceptor(new Reflector()), wrapping]);
    expect(await statusesOf(await requestsOf(host.url))).toEqual(STATUSES);
    expect(log.troubles).toEqual([]);
  });

  it(promise('host.interceptors-answer', 'one that gives up before the query is admitted'), async () => {
    const admitted = deferred();
    const limited: NestInterceptor = { intercept: (_, next) => next.handle().pipe(timeout(10)) };
    await start([limited], { admit: () => admitted.promise });
    const reply = await ask(host.url);
    expect([reply.status, (await reply.json())['code']]).toEqual([500, 'internal']);
    admitted.resolve();
    // Its run goes on, and no response follows it.
    await host.idle();
    const { runs } = await (await get(host.url, '/query')).json<{ runs: unknown[] }>();
    expect(runs).toMatchObject([{ status: 'completed' }]);
  });

  it(promise('host.interceptors-answer', 'one that tries again'), async () => {
    let tries = 0;
    const admit = () => {
      if (++tries < 3) throw new QueryError('unavailable', 'Not now.', { retryAfter: 1 });
    };
    await start([{ intercept: (_, next) => next.handle().pipe(retry(2)) }], { admit });
    const reply = await ask(host.url);
    // The body of a request is read once: what is tried again has none.
    expect([reply.status, (await reply.json())['code']]).toEqual([500, 'internal']);
    expect(await statusesOf([() => get(host.url, '/query')])).toEqual([200]);
  });
});
