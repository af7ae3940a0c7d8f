import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import {
  applyDecorators,
  Body,
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Injectable,
  Module,
  type NestInterceptor,
  Post,
  SetMetadata,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
  VERSION_NEUTRAL,
  VersioningType,
} from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { of, tap } from 'rxjs';
import { message, type Query, QueryModule, type QueryContext } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, get, request } from '../support/client.js';
import {
  type AdapterName,
  type Configure,
  describeOnBothAdapters,
  type Host,
  startHost,
} from '../support/host.js';

const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';
const says = (content: string) => `data: {"type":"message","data":{"content":"${content}"}}\n\n` + DONE;

async function* tellOwner(_: Query, { owner }: QueryContext) {
  yield message(owner);
}

/** The service of a host that signs and verifies its tokens. */
@Injectable()
class Tokens {
  readonly #key = 'the key of the host';

  of(user: string): string {
    return `${user}.${createHmac('sha256', this.#key).update(user).digest('hex')}`;
  }

  userOf(token: string): string | undefined {
    const [user = ''] = token.split('.');
    const [given, expected] = [Buffer.from(token), Buffer.from(this.of(user))];
    return given.length === expected.length && timingSafeEqual(given, expected) ? user : undefined;
  }
}

@Module({ providers: [Tokens], exports: [Tokens] })
class TokensModule {}

@Injectable()
class TokenGuard implements CanActivate {
  constructor(private readonly tokens: Tokens) {}

  canActivate(context: ExecutionContext): boolean {
    const caller = context.switchToHttp().getRequest<{ headers: http.IncomingHttpHeaders; user?: string }>();
    const [, token = ''] = /^Bearer (.+)$/.exec(caller.headers.authorization ?? '') ?? [];
    const user = this.tokens.userOf(token);
    if (user === undefined) throw new UnauthorizedException('The token is not valid.');
    caller.user = user;
    return true;
  }
}

@Controller({ path: 'notes', version: ['1', VERSION_NEUTRAL] })
class NotesController {
  @Post()
  make(@Body() note: { text: string }) {
    return { made: note.text };
  }
}

const NOTE = JSON.stringify({ text: 'a note' });
const MADE = '{"made":"a note"}';

/** A route of the host at the path of the endpoint. */
@Controller({ path: 'query', version: '1' })
class FormerController extends NotesController {}

function start(
  adapter: AdapterName,
  imports: NonNullable<Parameters<typeof Module>[0]['imports']>,
  configure?: Configure,
  providers: NonNullable<Parameters<typeof Module>[0]['providers']> = [],
): Promise<Host> {
  // Without versions, the former controller would have the path of the endpoint.
  const controllers = configure ? [NotesController, FormerController] : [NotesController];
  @Module({ imports, providers, controllers })
  class OwnModule {}
  return startHost(adapter, OwnModule, configure);
}

const note = async (host: Host, path = '/notes', headers: http.OutgoingHttpHeaders = {}) => {
  const reply = await request(host.url, { path, headers }, NOTE);
  return [reply.status, await reply.whole()];
};

describeOnBothAdapters('The endpoint of a host on %s', (adapter) => {
  it.each([
    [
      'with fixed options',
      QueryModule.forRoot({
        handler: tellOwner,
        imports: [TokensModule],
        decorators: [UseGuards(TokenGuard)],
        path: 'agent',
        owner: (caller: { user?: string }) => caller.user,
      }),
    ],
    [
      'with a factory',
      QueryModule.forRootAsync({
        handler: tellOwner,
        imports: [TokensModule],
        decorators: [UseGuards(TokenGuard)],
        path: 'agent',
        useFactory: () => ({ owner: (caller: { user?: string }) => caller.user }),
      }),
    ],
  ])(promise('module.decorators', 'a guard with a dependency: %s'), async (_, module) => {
    const host = await start(adapter, [module]);
    const refused = await ask(host.url, 'Hello', { path: '/agent' });
    expect([refused.status, await refused.json()]).toEqual([
      401,
      {
        type: 'about:blank',
        title: 'Unauthorized',
        status: 401,
        detail: 'The token is not valid.',
        code: 'unauthorized',
      },
    ]);
    const headers = { authorization: `Bearer ${new Tokens().of('ann')}` };
    const answer = await ask(host.url, 'Hello', { path: '/agent', headers });
    expect(await answer.whole()).toBe(says('ann'));
    expect((await get(host.url, answer.headers['content-location']!)).status).toBe(401);
    expect((await get(host.url, answer.headers['content-location']!, headers)).status).toBe(200);
    expect(await note(host)).toEqual([201, MADE]);
    await host.close();
  });

  it(
    promise('module.decorators', 'metadata for a global guard, and an interceptor, in their order'),
    async () => {
      const seen: string[] = [];
      @Injectable()
      class ScopeGuard implements CanActivate {
        constructor(private readonly reflector: Reflector) {}

        canActivate(context: ExecutionContext): boolean {
          seen.push(this.reflector.get<string>('scope', context.getClass()) ?? 'none');
          return true;
        }
      }
      const tell = (text: string): CanActivate => ({ canActivate: () => seen.push(text) > 0 });
      const around: NestInterceptor = {
        intercept: (context: ExecutionContext, next: CallHandler<unknown>) => {
          seen.push('interceptor');
          const response = context
            .switchToHttp()
            .getResponse<{ header(name: string, value: string): void }>();
          response.header('x-around', 'set before');
          return next.handle().pipe(tap((value) => seen.push(`then ${String(value)}`)));
        },
      };
      const host = await start(
        adapter,
        [
          QueryModule.forRoot({
            handler: tellOwner,
            path: 'agent',
            decorators: [
              applyDecorators(SetMetadata('scope', 'agents'), UseGuards(tell('first'))),
              UseGuards(tell('second')),
              UseInterceptors(around),
            ],
          }),
        ],
        undefined,
        [{ provide: APP_GUARD, useClass: ScopeGuard }],
      );
      const answer = await ask(host.url, 'Hello', { path: '/agent' });
      expect(answer.headers['x-around']).toBe('set before');
      expect(await answer.whole()).toBe(says('anonymous'));
      expect(await note(host)).toEqual([201, MADE]);
      expect(seen).toEqual(['agents', 'first', 'second', 'interceptor', 'then undefined', 'none']);
      await host.close();
    },
  );

  it(promise('module.versions', 'in the path'), async () => {
    const host = await start(adapter, [QueryModule.forRoot({ handler: tellOwner, version: '2' })], (app) =>
      app.enableVersioning({ type: VersioningType.URI }),
    );
    const answer = await ask(host.url, 'Hello', { path: '/v2/query' });
    expect(answer.headers['content-location']).toMatch(/^\/v2\/query\/[0-9a-f-]{36}$/);
    expect(await answer.whole()).toBe(says('anonymous'));
    expect(await note(host, '/v1/query')).toEqual([201, MADE]);
    expect(await note(host, '/notes')).toEqual([201, MADE]);
    await host.close();
  });

  it(promise('module.versions', 'in a header'), async () => {
    const host = await start(
      adapter,
      [QueryModule.forRoot({ handler: tellOwner, path: 'agent', version: ['2', '3'] })],
      (app) => app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' }),
    );
    for (const version of ['2', '3']) {
      const headers = { 'x-version': version };
      const answer = await ask(host.url, 'Hello', { path: '/agent', headers });
      expect(await answer.whole()).toBe(says('anonymous'));
    }
    const headers = { 'x-version': '4' };
    expect((await ask(host.url, 'Hello', { path: '/agent', headers })).status).toBe(404);
    expect(await note(host, '/notes', { 'x-version': '1' })).toEqual([201, MADE]);
    await host.close();
  });

  it(promise('module.hosts'), async () => {
    const host = await start(adapter, [
      QueryModule.forRoot({
        handler: tellOwner,
        path: 'agent',
        host: ['agent.example', /^\w+\.agents\.example$/],
      }),
    ]);
    for (const name of ['agent.example', 'one.agents.example']) {
      const answer = await ask(host.url, 'Hello', { path: '/agent', headers: { host: name } });
      expect(await answer.whole()).toBe(says('anonymous'));
    }
    const elsewhere = await ask(host.url, 'Hello', { path: '/agent', headers: { host: 'other.example' } });
    expect(elsewhere.status).toBe(404);
    expect(await note(host)).toEqual([201, MADE]);
    await host.close();
  });
});

// Express passes the body of any POST to such a path on as it is: see docs/hosts.md.
describe('The endpoint of a host on fastify', () => {
  it(promise('module.versions', 'in a header, where the host has another version of the path'), async () => {
    const host = await start('fastify', [QueryModule.forRoot({ handler: tellOwner, version: '2' })], (app) =>
      app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' }),
    );
    const answer = await ask(host.url, 'Hello', { headers: { 'x-version': '2' } });
    expect(await answer.whole()).toBe(says('anonymous'));
    expect(await note(host, '/query', { 'x-version': '1' })).toEqual([201, MADE]);
    expect(await noteAfterContinue(host, { 'x-version': '1' })).toEqual([201, MADE]);
    await host.close();
  });
});

// Fastify does not pass a request for another host name on to another route.
describe('The endpoint of a host on express', () => {
  it(promise('module.hosts', 'where another module serves the path under another name'), async () => {
    const host = await start('express', [
      QueryModule.forRoot({ handler: tellOwner, host: 'agent.example' }),
      QueryModule.forRoot({ handler: () => of(message('other')), host: 'other.example' }),
    ]);
    const textAt = async (name: string) =>
      (await ask(host.url, 'Hello', { headers: { host: name } })).whole();
    expect(await textAt('agent.example')).toBe(says('anonymous'));
    expect(await textAt('other.example')).toBe(says('other'));
    await host.close();
  });
});

describe('A module', () => {
  it.each([[UseGuards(TokenGuard)], [[TokenGuard, 'guard']], ['guard']])(
    promise('module.decorators', 'that are none are an error: %p'),
    (decorators) => {
      expect(() => QueryModule.forRoot({ handler: tellOwner, decorators } as never)).toThrow(
        'QueryModule: the option "decorators" must be an array of class decorators, such as [UseGuards(MyGuard)].',
      );
    },
  );
});

/** Sends a note to the path of the endpoint, its body only after `100 Continue`. */
async function noteAfterContinue(host: Host, headers: http.OutgoingHttpHeaders = {}) {
  const sent = http.request(`${host.url}/query`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', expect: '100-continue' },
  });
  sent.flushHeaders();
  await once(sent, 'continue');
  sent.end(NOTE);
  const [response] = (await once(sent, 'response')) as [http.IncomingMessage];
  let body = '';
  for await (const piece of response.setEncoding('utf8')) body += piece;
  return [response.statusCode, body];
}
