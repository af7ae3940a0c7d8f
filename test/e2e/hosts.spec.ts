import type { ServerResponse } from 'node:http';
import {
  type ArgumentsHost,
  Body,
  type CallHandler,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  type INestApplication,
  Module,
  NotFoundException,
  Post,
  ValidationPipe,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { IsString } from 'class-validator';
import compression from 'compression';
import { map, tap, timeout } from 'rxjs';
import { message, QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { deferred } from '../support/conditions.js';
import { ADAPTERS, type Configure, describeOnBothAdapters, type Host, startHost } from '../support/host.js';
import { OperatorLog } from '../support/operator-log.js';
import { type RequestOptions, ask, request } from '../support/client.js';

const HI = 'data: {"type":"message","data":{"content":"Hi"}}\n\n';
const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
const REFUSED =
  '{"type":"about:blank","title":"Bad Request","status":400,"detail":"The body is empty.","code":"invalid_json"}';
const QUERY = JSON.stringify({
  extra: 1,
  parts: [
    { type: 'text', text: 'Hello', extra: 1 },
    { type: 'file', name: 'a', mimeType: 'a/b', base64: 'QUJD', extra: 1 },
  ],
  kwargs: { extra: { any: ['thing'] } },
});

class NoteDto {
  @IsString()
  text!: string;
}

@Controller('notes')
class NotesController {
  @Post()
  make(@Body() note: NoteDto) {
    return { made: note.text, isDto: note instanceof NoteDto };
  }

  @Get()
  none(): never {
    throw new NotFoundException('No notes');
  }
}

/** A host that has routes of its own besides the endpoint. */
function start(adapter: (typeof ADAPTERS)[number], configure: Configure): Promise<Host> {
  const handler = async function* () {
    yield message('Hi');
  };
  @Module({ imports: [QueryModule.forRoot({ handler })], controllers: [NotesController] })
  class OwnModule {}
  return startHost(adapter, OwnModule, configure);
}

async function answers(host: Host, asking?: RequestOptions) {
  const answer = await request(host.url, asking, QUERY);
  return [answer.status, await answer.whole()];
}

async function note(host: Host, body = '{"text":"a"}'): Promise<[number, unknown]> {
  const answer = await request(host.url, { path: '/notes' }, body);
  return [answer.status, JSON.parse(await answer.whole())];
}

describeOnBothAdapters('In a host on %s', (adapter) => {
  it(promise('host.pipes', 'a strict ValidationPipe'), async () => {
    const host = await start(adapter, (app) =>
      app.useGlobalPipes(
        new ValidationPipe({
          whitelist: true,
          forbidNonWhitelisted: true,
          forbidUnknownValues: true,
          transform: true,
          transformOptions: { enableImplicitConversion: true },
          validateCustomDecorators: true,
        }),
      ),
    );
    expect(await answers(host)).toEqual([200, HI + DONE]);
    expect(await note(host)).toEqual([201, { made: 'a', isDto: true }]);
    expect((await note(host, '{"text":"a","extra":1}'))[0]).toBe(400);
    const run = await ask(host.url);
    const shown = await request(host.url, { method: 'GET', path: run.headers['content-location']! });
    expect(JSON.parse(await shown.whole())).toMatchObject({ session: null });
    const page = await request(host.url, { method: 'GET', path: '/query?limit=1&extra=1' });
    expect(JSON.parse(await page.whole())).toMatchObject({ runs: [{ id: run.runId }] });
    const refused = await request(host.url, { method: 'GET', path: '/query?limit=0' });
    expect(JSON.parse(await refused.whole())).toMatchObject({ errors: [{ pointer: '/limit' }] });
    await host.close();
  });

  it(promise('host.filters'), async () => {
    const seen: unknown[] = [];
    @Catch()
    class OwnFilter implements ExceptionFilter {
      constructor(private readonly app: INestApplication) {}
      catch(error: Error, context: ArgumentsHost) {
        seen.push(error.message);
        const { httpAdapter } = this.app.get(HttpAdapterHost);
        httpAdapter.reply(context.switchToHttp().getResponse(), { own: error.message }, 418);
      }
    }
    const host = await start(adapter, (app) => app.useGlobalFilters(new OwnFilter(app)));
    const refused = await request(host.url, {}, '');
    expect([refused.status, await refused.whole()]).toEqual([400, REFUSED]);
    expect(await answers(host)).toEqual([200, HI + DONE]);
    expect(seen).toEqual([]);
    const own = await request(host.url, { method: 'GET', path: '/notes' });
    expect([own.status, await own.whole()]).toEqual([418, '{"own":"No notes"}']);
    await host.close();
  });

  it(promise('host.interceptors', 'which log, wrap responses and set a time limit'), async () => {
    const seen: string[] = [];
    const speak = deferred();
    const handler = async function* () {
      await speak.promise;
      yield message('Hi');
    };
    const host = await startHost(adapter, QueryModule.forRoot({ handler }), (app) =>
      app.useGlobalInterceptors(
        {
          intercept: (_: ExecutionContext, next: CallHandler) =>
            next.handle().pipe(tap(() => seen.push('logged'))),
        },
        {
          intercept: (_: ExecutionContext, next: CallHandler) =>
            next.handle().pipe(map((data: unknown) => ({ data }))),
        },
        { intercept: (_: ExecutionContext, next: CallHandler) => next.handle().pipe(timeout(2_000)) },
      ),
    );
    const log = OperatorLog.of(host.app);
    const answer = await ask(host.url);
    expect(seen).toEqual(['logged']);
    speak.resolve();
    expect(await answer.whole()).toBe(HI + DONE);
    expect(log.troubles).toEqual([]);
    await host.close();
  });

  it(promise('host.cors'), async () => {
    const host = await start(adapter, (app) =>
      app.enableCors({
        origin: 'https://page.example',
        credentials: true,
        exposedHeaders: ['Content-Location'],
      }),
    );
    const cors = {
      'access-control-allow-origin': 'https://page.example',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'Content-Location',
    };
    const headers = { origin: 'https://page.example' };
    const stream = await ask(host.url, 'Hello', { headers });
    expect(stream.headers).toMatchObject(cors);
    expect(await stream.whole()).toBe(HI + DONE);
    const problem = await request(host.url, { headers }, '');
    expect(problem.headers).toMatchObject(cors);
    expect([problem.status, await problem.whole()]).toEqual([400, REFUSED]);
    const preflight = await request(host.url, {
      method: 'OPTIONS',
      headers: { ...headers, 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    await host.close();
  });

  it(promise('host.compression', 'its other routes are compressed'), async () => {
    const host = await start(adapter, (app) => void app.use(compression({ threshold: 0 })));
    const headers = { 'accept-encoding': 'gzip' };
    expect(await answers(host, { headers })).toEqual([200, HI + DONE]);
    const problem = await request(host.url, { headers }, '');
    expect([problem.status, await problem.whole()]).toEqual([400, REFUSED]);
    const own = await request(host.url, { path: '/notes', headers }, '{"text":"a"}');
    expect(own.headers['content-encoding']).toBe('gzip');
    await host.close();
  });

  it(
    promise('host.middleware', 'one that lets caches keep everything does so for its own routes only'),
    async () => {
      const host = await start(adapter, (app) =>
        app.use((_: unknown, response: ServerResponse, next: () => void) => {
          response.setHeader('cache-control', 'public, max-age=60');
          next();
        }),
      );
      const run = await ask(host.url);
      await run.whole();
      for (const [method, path] of [
        ['GET', '/query'],
        ['GET', `/query/${run.runId}`],
        ['DELETE', `/query/${run.runId}`],
      ] as const) {
        const answer = await request(host.url, { method, path });
        expect([path, answer.headers['cache-control']]).toEqual([path, 'no-store']);
      }
      expect(run.headers['cache-control']).toBe('no-cache, no-transform');
      const own = await request(host.url, { path: '/notes' }, '{"text":"a"}');
      expect(own.headers['cache-control']).toBe('public, max-age=60');
      await host.close();
    },
  );

  it(promise('host.routes'), async () => {
    const host = await start(adapter, () => undefined);
    for (const asking of [{ method: 'PATCH' }, { method: 'PUT' }, { path: '/queries' }]) {
      const answer = await request(host.url, asking, asking.method ? '' : '{}');
      expect(answer.status).toBe(404);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    }
    await host.close();
  });
});
