import { VersioningType } from '@nestjs/common';
import { log, message } from '../../src/index.js';
import { TestClock } from '../../src/testing/index.js';
import { promise } from '../promises.js';
import { ask, request } from '../support/client.js';
import { deferred } from '../support/conditions.js';
import { describeOnBothAdapters, type Host, startAgent, startClockedAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const FULL = { accept: 'text/event-stream' };

async function* greet() {
  yield log('Thinking');
  yield message('Hi');
  yield { type: 'chart', data: [1, null, { x: 'y' }] };
  yield message('Grüße, 世界 👋');
}

describeOnBothAdapters('The bytes of a stream on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => (host = await startAgent(adapter, greet)));
  afterAll(() => host.close());

  it(promise('profile.plain'), async () => {
    const answer = await request(host.url, {}, '{"parts":[{"type":"text","text":"Hello"}],"kwargs":{}}');
    expect(answer.status).toBe(200);
    expect(await answer.whole()).toBe(
      'data: {"type":"log","data":{"message":"Thinking"}}\n\n' +
        'data: {"type":"message","data":{"content":"Hi"}}\n\n' +
        'data: {"type":"chart","data":[1,null,{"x":"y"}]}\n\n' +
        'data: {"type":"message","data":{"content":"Grüße, 世界 👋"}}\n\n' +
        'data: {"type":"done","data":{"status":"completed"}}\n\n',
    );
    expect(answer.bytes.includes(Buffer.from('c3bcc39f', 'hex'))).toBe(true);
  });

  it(promise('profile.full'), async () => {
    const answer = await ask(host.url, 'Hello', { headers: FULL });
    const text = await answer.whole();
    const [, runId] = new RegExp(`^retry: 1000\nid: (${UUID})\\.1\n`).exec(text) ?? [];
    expect(text).toBe(
      'retry: 1000\n' +
        `id: ${runId}.1\ndata: {"type":"log","data":{"message":"Thinking"}}\n\n` +
        `id: ${runId}.2\ndata: {"type":"message","data":{"content":"Hi"}}\n\n` +
        `id: ${runId}.3\ndata: {"type":"chart","data":[1,null,{"x":"y"}]}\n\n` +
        `id: ${runId}.4\ndata: {"type":"message","data":{"content":"Grüße, 世界 👋"}}\n\n` +
        `id: ${runId}.5\ndata: {"type":"done","data":{"status":"completed"}}\n\n`,
    );
    expect(answer.headers['content-location']).toBe(`/query/${runId}`);
  });

  it.each([
    [undefined, 'plain'],
    ['*/*', 'plain'],
    ['text/*', 'plain'],
    ['application/json', 'plain'],
    ['application/json, */*;q=0.5', 'plain'],
    ['text/event-stream;q=0', 'plain'],
    ['text/event-streams', 'plain'],
    ['', 'plain'],
    [',;=,/', 'plain'],
    ['text/event-stream', 'full'],
    ['text/event-stream;charset=utf-8', 'full'],
    ['Text/Event-Stream', 'full'],
    ['application/json;q=0.9, text/event-stream;q=0.1', 'full'],
    ['application/json,text/event-stream', 'full'],
    ['text/event-stream, */*', 'full'],
  ])(promise('profile.selection', 'Accept: %s is %s'), async (accept, profile) => {
    const answer = await ask(host.url, 'Hello', { headers: accept === undefined ? {} : { accept } });
    expect((await answer.whole()).split('\n', 1)[0]).toBe(
      profile === 'full' ? 'retry: 1000' : 'data: {"type":"log","data":{"message":"Thinking"}}',
    );
  });

  it(promise('headers.stream'), async () => {
    const { headers } = await ask(host.url);
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'content-location': expect.stringMatching(new RegExp(`^/query/${UUID}$`)),
    });
    expect(headers['content-length']).toBeUndefined();
    expect(headers['content-encoding']).toBeUndefined();
  });
});

describeOnBothAdapters('The path of a run on %s', (adapter) => {
  it(promise('version.path'), async () => {
    const host = await startAgent(adapter, greet, {}, (app) => {
      app.setGlobalPrefix('api');
      app.enableVersioning({ type: VersioningType.URI, defaultVersion: '2' });
    });
    const answer = await ask(host.url, 'Hello', { path: '/api/v2/query?trace=1' });
    const path = answer.headers['content-location']!;
    expect(path).toMatch(new RegExp(`^/api/v2/query/${UUID}$`));
    await answer.whole();
    const run = await request(host.url, { method: 'GET', path });
    expect(JSON.parse(await run.whole())).toMatchObject({ status: 'completed', events: 5 });
    await host.close();
  });

  it(promise('version.header'), async () => {
    const host = await startAgent(adapter, greet, {}, (app) => {
      app.enableVersioning({ type: VersioningType.HEADER, header: 'x-version', defaultVersion: '1' });
    });
    const answer = await ask(host.url, 'Hello', { headers: { 'x-version': '1' } });
    expect(answer.headers['content-location']).toMatch(new RegExp(`^/query/${UUID}$`));
    expect((await ask(host.url, 'Hello', { headers: { 'x-version': '9' } })).status).toBe(404);
    await host.close();
  });
});

describeOnBothAdapters('While the agent is silent on %s', (adapter) => {
  it(
    promise('profile.keep-alive', 'with the defaults in less than 5 s, whenever the stream begins'),
    async () => {
      const clock = new TestClock();
      const agent = new ScriptedAgent();
      const host = await startClockedAgent(adapter, clock, agent.handler);
      const answers = [];
      // One timer serves all streams: each begins at another phase of it.
      for (const phase of [0, 1, 399, 1]) {
        await clock.advance(phase);
        answers.push(await ask(host.url, 'Hello', { headers: FULL }));
      }
      await clock.advance(4_999 - 401);
      for (const answer of answers) await answer.until('retry: 1000\n:\n');
      for (const number of [1, 2, 3, 4]) (await agent.call(number)).finish();
      for (const answer of answers) await answer.whole();
      await host.close();
    },
  );

  it.each([
    ['plain', {}, '\n\n\n\n\n\n'],
    ['full', FULL, 'retry: 7\n:\n:\n:\n'],
  ])(promise('profile.keep-alive', 'the %s profile, before the first event'), async (_, headers, silence) => {
    const speak = deferred();
    const streams = { keepAliveMs: 20, retryMs: 7 };
    const host = await startAgent(
      adapter,
      async function* () {
        await speak.promise;
        yield message('At last');
      },
      { streams },
    );
    const answer = await ask(host.url, 'Hello', { headers });
    expect(answer.status).toBe(200);
    await answer.until((text) => text.startsWith(silence));
    speak.resolve();
    expect((await answer.whole()).slice(silence.length)).toMatch(
      /^(:?\n\n)*(id: \S+\.1\n)?data: {"type":"message","data":{"content":"At last"}}\n\n(id: \S+\.2\n)?data: {"type":"done","data":{"status":"completed"}}\n\n$/,
    );
    await host.close();
  });
});
