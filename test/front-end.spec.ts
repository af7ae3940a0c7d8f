import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request as requestOf } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Module, UseGuards } from '@nestjs/common';
import { AiSdkModule } from 'nest-agent-query-protocols/ai-sdk';
import { AccessGuard, AccessModule, ownerOf } from '../src/access/index.js';
import { type HandlerFunction, message, QueryModule } from '../src/index.js';
import { describeOnOneAdapter, type Host, startHost } from './support/host.js';
import { codeBlocks, ROOT } from './support/documents.js';
import { freePort } from './support/free-port.mjs';
import { FRONT_END, type FrontEnd, startFrontEnd, TOKENS } from './support/front-end.js';
import { ScriptedAgent } from './support/scripted-agent.js';
import { serve } from './support/service.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const question = (id: string, content: string) =>
  JSON.stringify({ id, messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: content }] }] });

/** Logs a user in, and returns the headers of the requests of the page. */
async function logIn({ url }: FrontEnd, name: string): Promise<{ cookie: string }> {
  const body = JSON.stringify({ name, password: `${name}-1` });
  const response = await fetch(`${url}/login`, { method: 'POST', body });
  expect(response.status).toBe(204);
  const [cookie] = response.headers.getSetCookie();
  expect(cookie).toMatch(/^session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/);
  return { cookie: cookie!.split(';')[0]! };
}

describeOnOneAdapter('The server of examples/front-end, before a service on %s,', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  let frontEnd: FrontEnd;
  let ann: { cookie: string };
  let chat: string;

  beforeAll(async () => {
    const decorators = [UseGuards(AccessGuard)];
    const runs = { drainMs: 0, stopDeadlineMs: 100, disconnect: 'cancel' as const };
    const handler: HandlerFunction = (query, context) => agent.handler(query, context);
    const limits = { fileBytes: 1_000_000 };
    @Module({
      imports: [
        AccessModule.forRoot({ jwt: TOKENS }),
        QueryModule.forRoot({ handler, decorators, owner: ownerOf, runs, limits }),
        AiSdkModule.forRoot({ decorators }),
      ],
    })
    class Guarded {}
    host = await startHost(adapter, Guarded);
    frontEnd = await startFrontEnd(host.url);
  });
  beforeEach(async () => {
    agent = new ScriptedAgent();
    ann = await logIn(frontEnd, 'ann');
    chat = randomUUID();
  });
  afterAll(async () => {
    await frontEnd.stop();
    await host.close();
  });

  const ask = (headers: object, signal?: AbortSignal) =>
    fetch(`${frontEnd.url}/ai/chat`, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...headers },
      body: question(chat, 'Hello'),
      ...(signal && { signal }),
    });

  it('passes an answer on piece by piece', async () => {
    const response = await ask(ann);
    const pieces = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const call = await agent.call(1);
    for (const word of ['one', 'two']) {
      call.emit(message(word));
      let piece = '';
      while (!piece.includes(word)) piece += (await pieces.read()).value;
    }
    call.finish();
    let rest = '';
    for (let read = await pieces.read(); !read.done; read = await pieces.read()) rest += read.value;
    expect(rest).toContain('data: [DONE]');
  });

  it('lets nobody in who has not logged in, and tells a wrong password', async () => {
    const refused = await ask({});
    expect([refused.status, await refused.text()]).toEqual([401, 'Log in first.\n']);
    expect((await ask({ cookie: 'session=x' })).status).toBe(401);
    for (const login of [{ name: 'ann', password: 'x' }, { name: 'eve' }, {}]) {
      const body = JSON.stringify(login);
      const response = await fetch(`${frontEnd.url}/login`, { method: 'POST', body });
      expect([response.status, await response.text()]).toEqual([401, 'The name or the password is wrong.\n']);
    }
    expect(agent.calls).toEqual([]);
  });

  it('lets nobody in after the logout', async () => {
    expect((await fetch(`${frontEnd.url}/logout`, { method: 'POST', headers: ann })).status).toBe(204);
    expect((await ask(ann)).status).toBe(401);
  });

  it('asks as the user who has logged in, whatever credential the page sends', async () => {
    const bob = await logIn(frontEnd, 'bob');
    const response = await ask({ ...ann, authorization: 'Bearer x', 'x-api-key': 'x' });
    (await agent.call(1)).finish();
    await response.text();
    const session = (headers: object) =>
      fetch(`${frontEnd.url}/query/sessions/${chat}`, { headers: { ...headers } });
    expect(await (await session(ann)).json()).toMatchObject({ turns: [{ end: { status: 'completed' } }] });
    expect((await session(bob)).status).toBe(404);
    const owners = await Promise.all(
      ['ann', 'bob'].map((name) => host.agent.runs(`jwt:["front-end","${name}"]`, { limit: 100 })),
    );
    const [ofAnn, ofBob] = owners.map(({ runs }) => runs.filter(({ session }) => session === chat));
    expect([ofAnn!.length, ofBob!.length, owners[1]!.runs.length]).toEqual([1, 0, 0]);
  });

  it('ends the request to the service when the page leaves', async () => {
    const leaves = new AbortController();
    const response = await ask(ann, leaves.signal);
    expect(response.status).toBe(200);
    const call = await agent.call(1);
    leaves.abort();
    await call.stopped;
  });

  it('cuts its response where that of the service is cut', async () => {
    const response = await ask(ann);
    (await agent.call(1)).emit(message('one'));
    (host.app.getHttpServer() as { closeAllConnections(): void }).closeAllConnections();
    await expect(response.text()).rejects.toThrow();
  });

  it('passes the refusal of an upload on that the service has not read to its end', async () => {
    const response = await fetch(`${frontEnd.url}/query/files`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream', ...ann },
      body: new Uint8Array(20_000_000),
    });
    expect([response.status, await response.json()]).toEqual([
      413,
      expect.objectContaining({ code: 'limit_exceeded' }),
    ]);
  });

  it('takes an upload', async () => {
    const bytes = new Uint8Array(900_000);
    const headers = { 'content-type': 'application/octet-stream', ...ann };
    const sent = await fetch(`${frontEnd.url}/query/files`, { method: 'POST', headers, body: bytes });
    expect([sent.status, await sent.json()]).toEqual([201, expect.objectContaining({ size: 900_000 })]);
  });

  it('has no route of the service beside those of chats and queries', async () => {
    const { port } = new URL(frontEnd.url);
    for (const path of [
      '/metrics',
      '/ai/chat/../../metrics',
      '/ai/chat/%2e%2e/%2e%2e/metrics',
      '/ai/chats',
      '/openapi.json',
      '/../agent.mjs',
    ]) {
      const sent = requestOf({ port, path, headers: { ...ann } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const answer = [path, response.statusCode, await text(response)];
      expect(answer).toEqual([path, 404, 'There is no such page.\n']);
    }
  });

  it('sends no request elsewhere, whatever address it has', async () => {
    let isAsked = false;
    const other = createServer(() => (isAsked = true)).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    for (const target of [`http://127.0.0.1:${port}/query`, `//127.0.0.1:${port}/query`]) {
      const socket = connect(Number(new URL(frontEnd.url).port), '127.0.0.1');
      socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nCookie: ${ann.cookie}\r\nConnection: close\r\n\r\n`);
      // The list of runs of the service itself.
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 .*"runs":\[/s);
    }
    expect(isAsked).toBe(false);
    other.close();
  });

  it('refuses what a page of another site sends', async () => {
    for (const site of ['cross-site', 'same-site', 'none'])
      expect((await ask({ ...ann, 'sec-fetch-site': site })).status).toBe(403);
    expect(agent.calls).toEqual([]);
  });

  it('answers 502 while the service cannot be reached', async () => {
    const alone = await startFrontEnd(`http://127.0.0.1:${await freePort()}`);
    const response = await fetch(`${alone.url}/query`, { headers: await logIn(alone, 'ann') });
    expect([response.status, await response.text()]).toEqual([502, 'The agent cannot be reached.\n']);
    await alone.stop();
  });

  it('goes on after a body that is no JSON', async () => {
    const response = await fetch(`${frontEnd.url}/login`, { method: 'POST', body: '{' });
    expect([response.status, await response.text()]).toEqual([400, 'The request cannot be read.\n']);
    expect((await fetch(`${frontEnd.url}/user`, { headers: ann })).status).toBe(200);
  });
});

describe('docs/front-end.md', () => {
  it('shows the files as they are', () => {
    const files = ['server/agent-proxy.mjs', 'server/main.mjs', 'src/app.tsx', 'src/chat.tsx'];
    const sources = files.map((name) => readFileSync(join(FRONT_END, name), 'utf8'));
    const shown = codeBlocks('docs/front-end.md').filter(({ language }) => /^(?:js|tsx)$/.test(language));
    expect(shown.map(({ code }) => files[sources.findIndex((source) => source.includes(code))])).toEqual([
      'server/agent-proxy.mjs',
      'server/main.mjs',
      'src/chat.tsx',
      'src/app.tsx',
    ]);
  });
});

describe('The agent of examples/front-end, in the service', () => {
  it('asks before it refunds, and the user of another login cannot answer', async () => {
    const service = await serve(
      {
        AGENT: './examples/front-end/agent.mjs',
        JWT_SECRET: TOKENS.secret,
        JWT_ISSUER: TOKENS.issuer,
        JWT_AUDIENCE: TOKENS.audience,
      },
      ROOT,
    );
    const frontEnd = await startFrontEnd(service.url);
    const [ann, bob] = [await logIn(frontEnd, 'ann'), await logIn(frontEnd, 'bob')];
    const send = (path: string, body: string, headers: object) =>
      fetch(frontEnd.url + path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body });
    const asked = await send('/ai/chat', question('c', 'refund 881'), ann);
    const runId = asked.headers.get('x-workflow-run-id');
    expect(await asked.text()).toContain('"type":"tool-approval-request"');
    const answers = [{ id: 'refund_881', outcome: 'answered', value: { approved: true } }];
    const answer = (headers: object) => send(`/query/${runId}/inputs`, JSON.stringify({ answers }), headers);
    expect((await answer(bob)).status).toBe(404);
    expect((await answer(ann)).status).toBe(200);
    const events = await fetch(`${frontEnd.url}/query/${runId}`, {
      headers: { ...ann, accept: 'text/event-stream' },
    });
    expect(await events.text()).toContain('The order 881 is refunded. ');
    await frontEnd.stop();
    await service.stop();
  });
});
