import { createHash } from 'node:crypto';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  AccessGuard,
  AccessModule,
  type AccessModuleOptions,
  apiKeysOf,
  createApiKey,
  ownerOf,
  PublicRoute,
} from '../../../src/access/index.js';
import { message, QueryModule, type HandlerFunction } from '../../../src/index.js';
import { promise } from '../../promises.js';
import { AUDIENCE, bearer, guarded, Issuer, SECRET, secretToken, sendRaw } from '../../support/access.js';
import { ask, get, type Reply } from '../../support/client.js';
import { describeOnOneAdapter, type Host, startHost } from '../../support/host.js';

const ANN = createApiKey('ann');
const KEYS = [ANN.configured];

/** Answers with the owner of the query. */
const sayOwner: HandlerFunction = async function* (_query, { owner }) {
  yield message(owner);
};

const REALM = 'Bearer realm="nest-agent-query"';
const INVALID = `${REALM}, error="invalid_token"`;

/** Status, challenge, type and code of a refusal. */
async function refusalOf(reply: Reply): Promise<unknown[]> {
  const { code, status } = await reply.json();
  expect(status).toBe(reply.status);
  return [reply.status, reply.headers['www-authenticate'], reply.headers['content-type'], code];
}

const unauthorized = (challenge: string) => [401, challenge, 'application/problem+json', 'unauthorized'];

describeOnOneAdapter('Credentials on %s', (adapter) => {
  let host: Host | undefined;

  afterEach(async () => {
    await host?.idle();
    await host?.close();
    host = undefined;
  });

  const start = async (access: AccessModuleOptions) =>
    (host = await startHost(adapter, guarded(sayOwner, access))).url;
  const ownerFor = async (url: string, headers: Record<string, string>) =>
    (await (await ask(url, 'Hi', { headers })).answer()).text;

  it(promise('access.key'), async () => {
    const url = await start({ keys: KEYS });
    expect(await ownerFor(url, bearer(ANN.key))).toBe('key:ann');
    expect(await ownerFor(url, { authorization: `bEARER  ${ANN.key} ` })).toBe('key:ann');
    expect(await ownerFor(url, { 'x-api-key': ANN.key })).toBe('key:ann');
    // Of a proxy, for example.
    expect(await ownerFor(url, { 'x-api-key': ANN.key, authorization: 'Basic YTpi' })).toBe('key:ann');
  });

  it(promise('access.key', 'of any form, configured as text'), async () => {
    const sha256 = createHash('sha256').update('a.b.c').digest('hex').toUpperCase();
    const url = await start({
      keys: apiKeysOf(` bob:${sha256} ,ann:${ANN.configured.sha256}`),
      jwt: { secret: SECRET },
    });
    expect(await ownerFor(url, bearer('a.b.c'))).toBe('key:bob');
    expect(await ownerFor(url, bearer(ANN.key))).toBe('key:ann');
  });

  it(promise('access.jwt', 'of a secret'), async () => {
    const url = await start({ jwt: { secret: SECRET, audience: AUDIENCE } });
    expect(await ownerFor(url, bearer(await secretToken()))).toBe('jwt:[null,"ann"]');
    const token = await secretToken({ iss: 'https://idp.example', sub: 'a"\n\u0000\ud800b' });
    expect(await ownerFor(url, bearer(token))).toBe('jwt:["https://idp.example","a\\"\\n\\u0000\\ud800b"]');
  });

  it(promise('access.jwt', 'of an issuer that publishes its keys'), async () => {
    const issuer = await Issuer.start('https://idp.example');
    const tokens = [await issuer.token()];
    for (const alg of ['ES256', 'EdDSA', 'PS512']) {
      await issuer.add(alg);
      tokens.push(await issuer.token());
    }
    const { jwksUrl } = issuer;
    const url = await start({ jwt: { jwksUrl, issuer: [issuer.name, 'other'], audience: ['x', AUDIENCE] } });
    for (const token of tokens)
      expect(await ownerFor(url, bearer(token))).toBe('jwt:["https://idp.example","ann"]');
    expect(issuer.fetches).toBe(1);
    await issuer.close();
  });

  it(promise('access.together'), async () => {
    const url = await start({ keys: KEYS, jwt: { secret: SECRET } });
    expect(await ownerFor(url, { 'x-api-key': ANN.key })).toBe('key:ann');
    expect(await ownerFor(url, bearer(ANN.key))).toBe('key:ann');
    expect(await ownerFor(url, bearer(await secretToken({ sub: 'key:ann' })))).toBe('jwt:[null,"key:ann"]');
  });

  it(promise('access.missing'), async () => {
    const url = await start({ keys: KEYS, jwt: { secret: SECRET } });
    for (const headers of [
      {},
      { authorization: 'Basic YTpi' },
      { authorization: 'Bearer' },
      { 'x-api-key': '' },
    ]) {
      expect(await refusalOf(await ask(url, 'Hi', { headers }))).toEqual(unauthorized(REALM));
      expect(await refusalOf(await get(url, '/query/some-run', headers))).toEqual(unauthorized(REALM));
    }
    const { detail } = await (await ask(url)).json();
    expect(detail).toBe(
      'This needs a credential. Send an API key or a token as "Authorization: Bearer <credential>", or an API key as ' +
        '"X-API-Key: <key>".',
    );
  });

  it(promise('access.refused'), async () => {
    const url = await start({ keys: KEYS, jwt: { secret: SECRET } });
    const replies = await Promise.all(
      [
        { 'x-api-key': createApiKey('ann').key },
        { 'x-api-key': ANN.key.slice(0, -1) },
        { 'x-api-key': ANN.configured.sha256 },
        // A token is no key.
        { 'x-api-key': await secretToken() },
        bearer(ANN.configured.sha256),
        bearer(`${ANN.key} more`),
        bearer(await secretToken({ exp: 1 })),
        bearer('a.b.c'),
      ].map((headers) => ask(url, 'Hi', { headers })),
    );
    const bodies = new Set<string>();
    for (const reply of replies) {
      expect(await refusalOf(reply)).toEqual(unauthorized(INVALID));
      bodies.add(reply.text);
    }
    expect([...bodies]).toEqual([
      JSON.stringify({
        type: 'about:blank',
        title: 'Unauthorized',
        status: 401,
        detail:
          'The credential is not valid, or no longer valid. Send an API key or a token as "Authorization: Bearer ' +
          '<credential>", or an API key as "X-API-Key: <key>".',
        code: 'unauthorized',
      }),
    ]);
  });

  it(promise('access.several'), async () => {
    const bob = createApiKey('bob');
    const url = await start({ keys: [...KEYS, bob.configured] });
    const both = (key: string) => ask(url, 'Hi', { headers: { ...bearer(ANN.key), 'x-api-key': key } });
    for (const key of [bob.key, 'unknown']) {
      expect(await refusalOf(await both(key))).toEqual([
        400,
        `${REALM}, error="invalid_request"`,
        'application/problem+json',
        'invalid_query',
      ]);
    }
    expect((await (await both(ANN.key)).answer()).text).toBe('key:ann');
    // Node shows the first `Authorization` only.
    const head = `GET /query/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${ANN.key}\r\n`;
    expect(await sendRaw(url, `${head}Authorization: Bearer ${bob.key}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await sendRaw(url, `${head}Authorization: Bearer ${ANN.key}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 404 /);
  });

  it(promise('access.before-body'), async () => {
    const url = await start({ keys: KEYS });
    // The body never comes.
    const received = await sendRaw(
      url,
      'POST /query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n' +
        'Expect: 100-continue\r\n\r\n',
      '"code":"unauthorized"',
    );
    expect(received).toMatch(/^HTTP\/1\.1 401 /);
  });

  it(promise('access.all-routes'), async () => {
    @Injectable()
    @Controller()
    class OtherController {
      @Get('private')
      private() {
        return { is: 'private' };
      }

      @PublicRoute()
      @Get('public')
      public() {
        return { is: 'public' };
      }
    }

    @PublicRoute()
    @Controller('health')
    class HealthController {
      @Get('live')
      live() {
        return { status: 'live' };
      }
    }

    @Module({
      imports: [
        AccessModule.forRootAsync({ useFactory: async () => ({ keys: KEYS }) }),
        QueryModule.forRoot({ handler: sayOwner, owner: ownerOf }),
      ],
      controllers: [OtherController, HealthController],
      providers: [{ provide: APP_GUARD, useClass: AccessGuard }],
    })
    class AllGuardedModule {}

    host = await startHost(adapter, AllGuardedModule);
    const { url } = host;
    expect(await refusalOf(await get(url, '/private'))).toEqual(unauthorized(REALM));
    expect(await refusalOf(await get(url, '/private', bearer('wrong')))).toEqual(unauthorized(INVALID));
    expect(await refusalOf(await ask(url))).toEqual(unauthorized(REALM));
    expect(await (await get(url, '/private', bearer(ANN.key))).json()).toEqual({ is: 'private' });
    expect(await (await get(url, '/public')).json()).toEqual({ is: 'public' });
    expect(await (await get(url, '/health/live', bearer('wrong'))).json()).toEqual({ status: 'live' });
    expect(await ownerFor(url, bearer(ANN.key))).toBe('key:ann');
  });

  it(promise('access.unguarded'), async () => {
    const module = QueryModule.forRoot({ handler: sayOwner, owner: ownerOf });
    host = await startHost(adapter, module);
    const reply = await ask(host.url, 'Hi', { headers: bearer(ANN.key) });
    expect([reply.status, (await reply.json())['code']]).toEqual([500, 'internal']);
  });

  it.each<[string, AccessModuleOptions, string]>([
    ['no credential', { keys: [] }, 'AccessModule: no credential is configured. Set keys, keysFile or jwt.'],
    ['an unknown option', { keys: KEYS, key: 1 } as never, 'AccessModule: key is not an option.'],
    ['a short secret', { jwt: { secret: 'short' } }, 'jwt.secret has 5 bytes; it must have at least 32.'],
    ['no key for tokens', { jwt: { issuer: 'a' } }, 'AccessModule: jwt needs jwksUrl or secret.'],
    ['a URL that is none', { jwt: { jwksUrl: 'keys' } }, 'jwt.jwksUrl must be a URL that begins with https:'],
    [
      'an empty audience',
      { jwt: { secret: SECRET, audience: '' } },
      'jwt.audience must be a text that is not empty',
    ],
    [
      'no file',
      { keysFile: '/nowhere/keys' },
      'The file of API keys "/nowhere/keys" cannot be read (ENOENT).',
    ],
  ])(promise('access.options', '%s'), async (_, options, fault) => {
    await expect(startHost(adapter, guarded(sayOwner, options))).rejects.toThrow(fault);
  });
});
