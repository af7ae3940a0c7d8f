import { once } from 'node:events';
import http2 from 'node:http2';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { diagnosticAgent } from '../../src/agents/diagnostic/index.js';
import { QueryModule } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, get } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnBothAdapters, type Host, listen, startHost } from '../support/host.js';

const module = QueryModule.forRoot(diagnosticAgent());

/** How long a stream that is not cut lasts: longer than another takes to be cut. */
const LASTS_MS = 500;

const EVENT = /^retry: 1000\nid: [\w-]+\.1\ndata: \{"type":"diagnostic","data":\{"number":1,/;

describeOnBothAdapters('The agent for tests on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => (host = await startHost(adapter, module)));
  afterAll(() => host.close());

  const runOf = async (runId: string): Promise<Record<string, unknown>> =>
    (await get(host.url, `/query/${runId}`)).json();

  it(promise('service.diagnostic', 'cuts a stream whose URL has ?cut behind its first event'), async () => {
    const kwargs = { count: 2, silenceMs: 60_000 };
    const headers = { accept: 'text/event-stream' };
    const other = await ask(host.url, 'x', { kwargs: { count: 2, intervalMs: LASTS_MS } });
    const cut = await ask(host.url, 'x', { kwargs, headers, path: '/query?cut' });
    const runId = cut.runId;
    await expect(cut.whole()).rejects.toThrow();
    await eventually(async () => (await runOf(runId))['status'] === 'cancelled');
    expect((await other.allEnvelopes()).map(({ type }) => type)).toEqual([
      'diagnostic',
      'diagnostic',
      'done',
    ]);
    await host.idle();
  });

  it(
    promise('service.diagnostic', 'cuts nothing that ends before, and no answer of another kind'),
    async () => {
      const whole = await ask(host.url, 'x', { kwargs: { count: 1 }, path: '/query?cut' });
      expect((await whole.allEnvelopes()).map(({ type }) => type)).toEqual(['diagnostic', 'done']);
      const headers = { prefer: 'respond-async', 'content-type': 'application/json' };
      const body = JSON.stringify({ parts: [{ type: 'text', text: 'x' }], kwargs: { count: 1 } });
      const detached = await fetch(`${host.url}/query?cut`, { method: 'POST', headers, body });
      expect([detached.status, Object.keys((await detached.json()) as object)]).toEqual([
        202,
        expect.arrayContaining(['id', 'status']),
      ]);
      const refused = await fetch(`${host.url}/query?cut`, { method: 'POST', headers, body: '{}' });
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
        400,
        'invalid_query',
      ]);
      await host.idle();
    },
  );
});

describe('The agent for tests on a host with HTTP/2', () => {
  it(promise('service.diagnostic', 'cuts one stream of a connection, and no other'), async () => {
    const app = await NestFactory.create(module, new FastifyAdapter({ http2: true }), { logger: false });
    const host = await listen(app);
    const client = http2.connect(host.url);
    const begin = (path: string, kwargs: object) => {
      const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
      const stream = client.request({ ':method': 'POST', ':path': path, ...headers });
      stream.end(JSON.stringify({ parts: [{ type: 'text', text: 'x' }], kwargs }));
      return stream.setEncoding('utf8');
    };
    const other = begin('/query', { count: 2, intervalMs: LASTS_MS });
    let text = '';
    other.on('data', (bytes: string) => (text += bytes));
    const otherEnded = once(other, 'end');
    const cut = begin('/query?cut', { count: 2, silenceMs: 60_000 });
    let received = '';
    cut.on('data', (bytes: string) => (received += bytes));
    const [error] = (await once(cut, 'error')) as [Error];
    expect(error.message).toBe('Stream closed with error code NGHTTP2_INTERNAL_ERROR');
    expect(received).toMatch(EVENT);
    await otherEnded;
    expect(text).toMatch(/"type":"done","data":\{"status":"completed"\}\}\n\n$/);
    await host.idle();
    client.close();
    await host.close();
  });
});
