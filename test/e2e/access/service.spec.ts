import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { createApiKey } from '../../../src/access/index.js';
import { promise } from '../../promises.js';
import { SECRET, secretToken } from '../../support/access.js';
import { ask, get } from '../../support/client.js';
import { deferred, eventuallyElsewhere } from '../../support/conditions.js';
import {
  refusalOf,
  serve,
  type Service,
  sharedOutput,
  type SharedService,
  startService,
} from '../../support/service.js';
import { freePort } from '../../support/free-port.mjs';

const ORIGIN = 'https://app.example.com';

/** How Postgres refuses a connection: no attempt follows this answer. */
const FIELDS = ['SFATAL', 'C28P01', 'Mpassword authentication failed', '', ''].join('\0');
const WRONG_PASSWORD = Buffer.concat([
  Buffer.from('E\0\0\0'),
  Buffer.from([FIELDS.length + 4]),
  Buffer.from(FIELDS),
]);

interface ServiceDocument {
  openapi: string;
  paths: Record<
    string,
    Record<string, { operationId: string; summary?: string; responses?: object; security?: [] }>
  >;
  components: { securitySchemes?: object };
  security?: object[];
}

describe('The configuration of the service', () => {
  let service: SharedService | undefined;

  afterEach(async () => {
    await service?.stop();
    service = undefined;
  });

  it(promise('access.loopback'), async () => {
    expect(await refusalOf({ HOST: '0.0.0.0' })).toEqual({
      exitCode: 1,
      message:
        'nest-agent-query cannot start.\n' +
        'HOST is "0.0.0.0", which other machines reach, and no credentials are configured. ' +
        'Set API_KEYS, API_KEYS_FILE, JWT_JWKS_URL or JWT_SECRET. Or set HOST to 127.0.0.1. ' +
        'Or set ACCESS=open, so that everybody may use the service.\n',
    });
  });

  it(promise('access.loopback', 'with ACCESS=open'), async () => {
    service = await serve({ HOST: '0.0.0.0', ACCESS: 'open' });
    expect((await ask(service.url.replace('0.0.0.0', '127.0.0.1'), 'Hello')).status).toBe(200);
    expect(service.output()).toContain('access  open to everybody who reaches the address (ACCESS=open)\n');
  });

  it(promise('service.unknown-variable'), async () => {
    service = await serve({ DISCONECT: 'x', API_KEY: 'of-other-software' });
    expect((await ask(service.url, 'Hello')).status).toBe(200);
    for (const [name, meant] of [
      ['DISCONECT', 'DISCONNECT'],
      ['API_KEY', 'API_KEYS'],
    ])
      expect(service.output()).toContain(
        `The variable ${name} has no effect on this service. Did you mean ${meant}?`,
      );
    expect(await refusalOf({ DISCONNECT: 'x' })).toMatchObject({ exitCode: 1 });
  });

  it.each([
    [{ TRUST_PROXY: 'loopback' }, 'TRUST_PROXY lets others reach the service through a proxy'],
    [{ CORS_ORIGIN: '*' }, 'CORS_ORIGIN=* lets the pages of all sites use the service'],
  ])(promise('access.local', 'a start with %j'), async (variables, sentence) => {
    const { message } = await refusalOf(variables);
    expect(message).toContain(`${sentence}, and no credentials are configured. `);
    expect(message).toMatch(/set API_KEYS, API_KEYS_FILE, JWT_JWKS_URL or JWT_SECRET\./i);
    service = await serve({ ...variables, ACCESS: 'open' });
  });

  it(promise('access.local', 'every path of the service'), async () => {
    service = await serve();
    for (const path of [
      '/',
      '/assets/a.js',
      '/query',
      '/query/%zz',
      '/health/live',
      '/metrics',
      '/version',
      '/openapi.json',
      '/no',
    ])
      expect([path, (await get(service.url, path, { 'x-forwarded-for': '203.0.113.9' })).status]).toEqual([
        path,
        path.includes('%zz') ? 400 : 403,
      ]);
  });

  it(promise('access.cors'), async () => {
    service = await serve({ CORS_ORIGIN: `${ORIGIN}, https://b.example` });
    const preflight = await fetch(`${service.url}/query`, {
      method: 'OPTIONS',
      headers: {
        Origin: ORIGIN,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers':
          'authorization,content-disposition,idempotency-key,last-event-id,prefer,x-api-key',
      },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN]);
    expect(preflight.headers.get('access-control-allow-headers')).toBe(
      'Authorization,Content-Disposition,Content-Type,Idempotency-Key,If-Range,Last-Event-ID,Prefer,Range,Session-After,X-API-Key,' +
        'traceparent,tracestate,A2A-Extensions,A2A-Version,' +
        'X-Stainless-Arch,X-Stainless-Custom-Poll-Interval,X-Stainless-Helper-Method,' +
        'X-Stainless-Lang,X-Stainless-OS,X-Stainless-Package-Version,X-Stainless-Poll-Helper,' +
        'X-Stainless-Retry-Count,X-Stainless-Runtime,X-Stainless-Runtime-Version,X-Stainless-Timeout,' +
        'MCP-Protocol-Version,Mcp-Method,Mcp-Name,Mcp-Session-Id',
    );
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET,HEAD,POST,DELETE');
    expect(preflight.headers.get('x-frame-options')).toBe('DENY');
    const answer = await fetch(`${service.url}/query/none`, { headers: { Origin: ORIGIN } });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([404, ORIGIN]);
    expect(answer.headers.get('access-control-expose-headers')).toContain('Content-Location');
    const other = await fetch(`${service.url}/query/none`, { headers: { Origin: 'https://evil.example' } });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });

  it(promise('service.start-message'), async () => {
    service = await serve();
    expect(service.output()).toBe(
      `nest-agent-query listens on ${service.url}\n\n` +
        '  agent   files\n' +
        '  store   the memory of this process; nothing is kept after its end\n' +
        '  access  open, from this machine only\n' +
        `  page    ${service.url}/\n\nTry it:\n\n` +
        `curl -N -H 'Content-Type: application/json' -d '{"parts":[{"type":"text","text":"Hello"}],"kwargs":{}}' ${service.url}/query\n\n`,
    );
  });

  it(promise('service.log-format', 'LOG_LEVEL=error'), async () => {
    const quiet = await serve({ LOG_LEVEL: 'error' });
    await (await ask(quiet.url, 'Hello')).whole();
    await quiet.stop();
    // Its entries would be before those of the next service of the process.
    service = await serve();
    await (await ask(service.url, 'Hello')).whole();
    const { output } = service;
    await eventuallyElsewhere(() => output().includes('Run ended'));
    expect(quiet.output().match(/Query admitted|Run ended/g)).toEqual(['Query admitted', 'Run ended']);
  });

  const ANN = createApiKey('ann');
  const BOB = createApiKey('bob');
  const API_KEYS = [ANN, BOB].map(({ configured }) => `${configured.name}:${configured.sha256}`).join();
  const by = ({ key }: { key: string }) => ({ headers: { authorization: `Bearer ${key}` } });

  it(promise('service.credentials'), async () => {
    service = await serve({ HOST: '0.0.0.0', API_KEYS, QUERIES_PER_MINUTE: '2', LOG_FORMAT: 'json' });
    const url = service.url.replace('0.0.0.0', '127.0.0.1');
    expect(service.output()).toContain('"access":"API keys (2)"');
    for (const path of ['/query/none', '/query/sessions/none', '/metrics', '/version', '/openapi.json']) {
      const { status, headers } = await fetch(url + path);
      expect([path, status]).toEqual([path, 401]);
      expect(headers.get('www-authenticate')).toBe('Bearer realm="nest-agent-query"');
    }
    expect((await ask(url, 'Hello')).status).toBe(401);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);

    const first = await ask(url, 'Hello', by(ANN));
    expect(first.headers['ratelimit-policy']).toBe('"minute";q=2;w=60');
    expect((await first.answer()).done).toEqual([{ status: 'completed' }]);
    const path = `${url}/query/${first.runId}`;
    expect((await fetch(path, by(ANN))).status).toBe(200);
    expect((await fetch(path, by(BOB))).status).toBe(404);
    await (await ask(url, 'Hello', by(ANN))).whole();
    const third = await ask(url, 'Hello', by(ANN));
    expect([third.status, third.headers['retry-after']]).toEqual([429, expect.stringMatching(/^[1-6]?\d$/)]);
    expect((await ask(url, 'Hello', by(BOB))).status).toBe(200);

    const metrics = await (await fetch(`${url}/metrics`, by(ANN))).text();
    expect(metrics).toContain('\nagent_query_refusals_total{code="rate_limited"} 1\n');
    const { output } = service;
    await eventuallyElsewhere(() => output().match(/"event":"ended"/g)?.length === 3);
    expect(output()).toContain('"owner":"key:ann"');
    for (const { key } of [ANN, BOB]) expect(output()).not.toContain(key);
  });

  it(promise('service.metrics-port'), async () => {
    const port = await freePort();
    service = await serve({ API_KEYS, METRICS_PORT: String(port) });
    const { status } = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(status).toBe(200);
    expect((await fetch(`${service.url}/metrics`, by(ANN))).status).toBe(404);
  });

  const HTTP_BEARER = { type: 'http', scheme: 'bearer' };

  it.each([
    ['without credentials', {}, undefined],
    [
      'of several agents, with API keys and tokens',
      { AGENTS: 'research=echo, b-c=files', API_KEYS, JWT_SECRET: SECRET },
      {
        bearer: { ...HTTP_BEARER, description: 'An API key, or a token (JWT).' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    ],
    [
      'with tokens, without a page, and with metrics on a port of their own',
      { JWT_SECRET: SECRET, PLAYGROUND: 'off', METRICS_PORT: '0' },
      { bearer: { ...HTTP_BEARER, bearerFormat: 'JWT' } },
    ],
  ])(promise('service.openapi', '%s'), async (_what, variables: Record<string, string>, schemes) => {
    service = await serve(variables);
    const { url, routes } = service;
    const answer = await fetch(`${url}/openapi.json`, schemes && by({ key: await secretToken() }));
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const text = await answer.text();
    const document = JSON.parse(text) as ServiceDocument;
    expect(
      (await new Validator().validate(JSON.parse(text) as Record<string, unknown>)).errors,
    ).toBeUndefined();
    expect(document.openapi).toBe('3.1.0');
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ path, method, ...operation })),
    );
    const described = operations.map(
      ({ path, method }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
    );
    // An adapter may make HEAD of each GET by itself.
    const isDescribed = (route: string) => !route.startsWith('HEAD ') || described.includes(route);
    const ofView = / (\/[\w-]+)?\/(a2a|ai|ag-ui|mcp|v1|\.well-known)(\/|$)/;
    const served = routes!.filter(
      (route) => !/^OPTIONS |^(GET|HEAD) \/assets\/|\/diagnostic/.test(route) && !ofView.test(route),
    );
    expect(described.filter((route) => !ofView.test(route)).sort()).toEqual(
      served.filter(isDescribed).sort(),
    );
    // What views refuse as a whole, and the routes that catch all other paths.
    const isRefused = / (\/[\w-]+)?\/a2a\/extendedAgentCard$|^(GET|DELETE) \/mcp$|^HEAD |,/;
    const nameless = (route: string) => route.replace(/:\w+(:\w+)?/g, ':');
    const names = described.map(nameless);
    const missing = routes!.filter((route) => ofView.test(route) && !names.includes(nameless(route)));
    expect(missing.filter((route) => !isRefused.test(route))).toEqual([]);
    expect(operations.filter(({ summary, responses }) => !summary || !responses)).toEqual([]);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    expect(document.components.securitySchemes).toEqual(schemes);
    expect(document.security).toEqual(schemes && Object.keys(schemes).map((name) => ({ [name]: [] })));
    for (const { path, method, security } of operations) {
      if (!schemes) continue;
      const { status } = await fetch(url + path.replace(/\{\w+\}/g, 'x'), { method });
      expect([path, status === 401]).toEqual([path, security === undefined]);
    }
  });

  it(
    promise('service.openapi', 'the routes of the protocols that are switched on, with their bodies'),
    async () => {
      service = await serve({ PROTOCOLS: 'ai-sdk,a2a', API_KEYS });
      const { paths } = (await (
        await fetch(`${service.url}/openapi.json`, by(ANN))
      ).json()) as ServiceDocument;
      const views = Object.keys(paths).filter(
        (path) => !/^\/(query|health|version|metrics|openapi|$)/.test(path),
      );
      expect(views).toEqual([
        '/ai/chat',
        '/ai/chat/{chatId}',
        '/ai/chat/{chatId}/stream',
        '/ai/chat/{chatId}/stop',
        '/a2a',
        '/a2a/message:send',
        '/a2a/message:stream',
        '/a2a/tasks',
        '/a2a/tasks/{id}',
        '/a2a/tasks/{id}:cancel',
        '/a2a/tasks/{id}:subscribe',
        '/.well-known/agent-card.json',
      ]);
      expect(paths['/ai/chat']).toEqual({
        post: {
          operationId: 'post_ai_chat',
          summary: 'Send the last message of a chat, or answer what its run asks',
          tags: ['ai-sdk'],
          requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } },
          responses: {
            200: {
              description: 'The answer.',
              content: { 'text/event-stream': { schema: { type: 'string' } } },
            },
            default: {
              description: 'A refusal.',
              content: { 'application/problem+json': { schema: { type: 'object' } } },
            },
          },
        },
      });
    },
  );

  it(promise('service.unknown-variable', 'a file of keys that cannot be read'), async () => {
    expect(await refusalOf({ API_KEYS_FILE: '/nowhere/keys' })).toEqual({
      exitCode: 1,
      message:
        'nest-agent-query cannot start.\n' +
        'API_KEYS_FILE names no file of keys. The file of API keys "/nowhere/keys" cannot be read (ENOENT).\n',
    });
  });

  it(promise('service.unreachable-postgres'), async () => {
    const reported = deferred();
    // Accepts connections, and does not answer until the report.
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => void reported.promise.then(() => socket.end(WRONG_PASSWORD)));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const refused = refusalOf({ DATABASE_URL: `postgres://user:hunter2@127.0.0.1:${port}/none` });
    await eventuallyElsewhere(() => sharedOutput().includes('cannot be reached yet'));
    expect(sharedOutput()).toContain(
      `The Postgres server 127.0.0.1:${port} cannot be reached yet. It is tried again until 30000 ms have passed.`,
    );
    reported.resolve();
    const { message } = await refused;
    expect(message).toContain('password authentication failed');
    expect(sharedOutput() + message).not.toContain('hunter2');
    server.close();
    await once(server, 'close');
  });
});

describe('The log of a service in JSON', () => {
  let directory: string;
  let started: Service;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'log-'));
    const agent = `export default async function* () { console.log(JSON.stringify('x'.repeat(30_000))); }`;
    await writeFile(join(directory, 'agent.mjs'), agent);
    started = await startService({ AGENT: './agent.mjs', LOG_FORMAT: 'json' }, directory);
  });
  afterAll(async () => {
    await started.stop();
    await rm(directory, { recursive: true });
  });

  it(promise('service.log-unread'), async () => {
    started.process.stdout!.pause();
    // What the agent prints is more than a pipe and its reader hold.
    for (let query = 0; query < 12; query++)
      expect((await (await ask(started.url, 'Hello')).answer()).done).toEqual([{ status: 'completed' }]);
    const { output } = started;
    const read = output().length;
    started.process.stdout!.resume();
    await eventuallyElsewhere(() => output().match(/"event":"ended"/g)?.length === 12);
    expect(output().length - read).toBeGreaterThan(256 * 1024);
  });

  it(promise('service.log-format'), async () => {
    await started.stop();
    const lines = started.output().trim().split('\n');
    const entries = lines.map((line) => JSON.parse(line) as { level: string; message: unknown });
    expect(entries[0]).toMatchObject({
      level: 'log',
      message: { message: `nest-agent-query listens on ${started.url}`, agent: './agent.mjs' },
    });
    expect(entries.at(-1)).toMatchObject({
      message: expect.stringMatching(/^SIGTERM: the service stops. Runs: 0 executing/),
    });
  });
});
