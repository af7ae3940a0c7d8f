import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Module, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { AccessGuard, AccessModule, createApiKey, ownerOf } from '../../src/access/index.js';
import { message, QueryModule } from '../../src/index.js';
import { PlaygroundModule, type PlaygroundOptions } from '../../src/playground/index.js';
import { BUILT_PAGE } from '../support/built-page.js';
import { get } from '../support/client.js';
import {
  type AdapterName,
  type Configure,
  describeOnBothAdapters,
  type Host,
  startHost,
} from '../support/host.js';

async function* hello() {
  yield message('Hello');
}

function start(adapter: AdapterName, options?: PlaygroundOptions, configure?: Configure): Promise<Host> {
  @Module({ imports: [QueryModule.forRoot({ handler: hello }), PlaygroundModule.forRoot(options)] })
  class Application {}
  return startHost(adapter, Application, configure);
}

/** The addresses in a page, resolved against its own. */
async function addressesIn(address: string): Promise<{ script: string; endpoints: string[] }> {
  const html = await (await fetch(address)).text();
  const [, script] = /<script type="module" crossorigin src="([^"]+)"/.exec(html)!;
  const [, endpoints] = /<meta name="endpoints" content="([^"]+)"/.exec(html)!;
  const resolved = (path: string) => new URL(path, address).pathname;
  return { script: resolved(script!), endpoints: endpoints!.split(' ').map(resolved) };
}

describe('The page', () => {
  it('has less than 150 kB in all, compressed', () => {
    const assets = join(BUILT_PAGE, 'assets');
    const files = [join(BUILT_PAGE, 'index.html'), ...readdirSync(assets).map((name) => join(assets, name))];
    const sizes = files.map((path) => gzipSync(readFileSync(path)).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
  });

  it.each([
    ['an unknown option', { paths: 'a' }, 'PlaygroundModule: paths is not an option. Did you mean path?'],
    [
      'no endpoint',
      { endpoint: [] },
      'PlaygroundModule: the option "endpoint" must have a path that is not empty.',
    ],
    [
      'a name that is empty',
      { name: ' ' },
      'PlaygroundModule: the option "name" must be a text that is not empty.',
    ],
    [
      'a name for several endpoints',
      { name: 'Orders', endpoint: ['a/query', 'b/query'] },
      'PlaygroundModule: the option "name" is for one endpoint. Several have the names of their paths: leave it out.',
    ],
    ['a path that is no text', { path: 1 }, 'PlaygroundModule: the option "path" must be a path.'],
  ])('is not mounted with %s', (_, options, fault) => {
    expect(() => PlaygroundModule.forRoot(options as never)).toThrow(new TypeError(fault));
  });

  describeOnBothAdapters('on %s', (adapter) => {
    let host: Host;
    afterEach(() => host.close());

    it('is checked again each time, may load nothing from elsewhere, and is shown in no frame', async () => {
      host = await start(adapter);
      const reply = await get(host.url, '/playground');
      expect([reply.status, await reply.whole()]).toEqual([
        200,
        expect.stringContaining('<title>Playground</title>'),
      ]);
      expect(reply.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
          "font-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      const again = await get(host.url, '/playground', { 'if-none-match': reply.headers.etag! });
      expect([again.status, await again.whole()]).toEqual([304, '']);
    });

    it('has files that are kept for ever, and are compressed for who can read that', async () => {
      host = await start(adapter);
      const { script } = await addressesIn(`${host.url}/playground`);
      const reply = await get(host.url, script, { 'accept-encoding': 'gzip' });
      expect(reply.headers).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
        'content-encoding': 'gzip',
        vary: expect.stringContaining('Accept-Encoding'),
        'x-content-type-options': 'nosniff',
      });
      await reply.whole();
      const plain = await get(host.url, script, { 'accept-encoding': 'identity' });
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(await plain.whole()).toBe(
        readFileSync(join(BUILT_PAGE, 'assets', script.split('/').at(-1)!), 'utf8'),
      );
    });

    it.each(['/playground/assets/none.js', '/playground/assets/..%2Findex.html'])(
      'has no file %s',
      async (path) => {
        host = await start(adapter);
        expect((await get(host.url, path)).status).toBe(404);
      },
    );

    it.each([
      ['a prefix', 'api/v1', {}, '/api/v1/playground', '/api/v1/playground/assets/', ['/api/v1/query']],
      ['no prefix', '', {}, '/playground', '/playground/assets/', ['/query']],
      ['the root', '', { path: '' }, '/', '/assets/', ['/query']],
      ['the root of a prefix', 'api', { path: '/' }, '/api', '/api/assets/', ['/api/query']],
      [
        'a deeper path',
        'api',
        { path: '/a/b/', endpoint: 'v1/query' },
        '/api/a/b',
        '/api/a/b/assets/',
        ['/api/v1/query'],
      ],
      [
        'several endpoints',
        '',
        { endpoint: ['a/query', 'b/query'] },
        '/playground',
        '/playground/assets/',
        ['/a/query', '/b/query'],
      ],
    ])('finds its files and the endpoint: %s', async (_, prefix, options, path, assets, endpoints) => {
      host = await start(adapter, options, (app) => prefix && app.setGlobalPrefix(prefix));
      const found = await addressesIn(host.url + path);
      expect(found.script.startsWith(assets)).toBe(true);
      expect(found.endpoints).toEqual(endpoints);
      expect((await get(host.url, found.script)).status).toBe(200);
    });

    it('has the name that the host gives to its agent', async () => {
      host = await start(adapter, { name: ' "Orders" & <more> ' });
      const html = await (await get(host.url, '/playground')).whole();
      expect(html).toContain('<meta name="agent" content="&#34;Orders&#34;&#32;&#38;&#32;&#60;more&#62;" />');
    });

    it('is no part of the OpenAPI document of the host', async () => {
      host = await start(adapter);
      const { paths } = SwaggerModule.createDocument(host.app, new DocumentBuilder().build());
      expect(Object.keys(paths).filter((path) => !path.startsWith('/query'))).toEqual([]);
    });

    it('needs no key where all routes of the host do', async () => {
      const { configured } = createApiKey('ann');
      @Module({
        imports: [
          AccessModule.forRoot({ keys: [configured] }),
          QueryModule.forRoot({ handler: hello, decorators: [UseGuards(AccessGuard)], owner: ownerOf }),
          PlaygroundModule.forRoot(),
        ],
        providers: [{ provide: APP_GUARD, useClass: AccessGuard }],
      })
      class Application {}
      host = await startHost(adapter, Application);
      expect((await get(host.url, '/playground')).status).toBe(200);
      const { script } = await addressesIn(`${host.url}/playground`);
      expect((await get(host.url, script)).status).toBe(200);
      expect((await get(host.url, '/query')).status).toBe(401);
    });
  });
});
