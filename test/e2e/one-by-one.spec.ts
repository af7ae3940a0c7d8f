import http from 'node:http';
import compression from 'compression';
import { message } from '../../src/index.js';
import { ask, request } from '../support/raw-client.js';
import { deferred } from '../support/conditions.js';
import { ADAPTERS, startAgent } from '../support/host.js';

const frame = (content: string) => `data: {"type":"message","data":{"content":"${content}"}}\n\n`;
const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';

/** A proxy that passes on every byte as it comes. */
async function startProxy(target: string) {
  const proxy = http.createServer((incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const passed = http.request(target + url!, { method, headers, agent: false }, (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => proxy.close(resolve)),
  };
}

/** An agent that says one word, and the next only when it is told that the one before was read. */
function stepwise() {
  const steps = [deferred(), deferred(), deferred()];
  let taken = 0;
  const handler = async function* () {
    await steps[0]!.promise;
    yield message('one');
    await steps[1]!.promise;
    yield message('two');
    await steps[2]!.promise;
  };
  return { handler, next: () => steps[taken++]!.resolve() };
}

describe.each(ADAPTERS)('Events on %s', (adapter) => {
  it('reach the client one by one: headers before the first, each before the next is produced', async () => {
    const { handler, next } = stepwise();
    const host = await startAgent(adapter, handler);
    const answer = await ask(host.url);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('');
    next();
    expect(await answer.until((text) => text.length > 0)).toBe(frame('one'));
    next();
    expect(await answer.until((text) => text.includes('two'))).toBe(frame('one') + frame('two'));
    next();
    expect(await answer.whole()).toBe(frame('one') + frame('two') + DONE);
    await host.close();
  });

  it('do so with compression mounted, through a proxy that does not buffer', async () => {
    const { handler, next } = stepwise();
    const host = await startAgent(adapter, handler, {}, (app) => void app.use(compression({ threshold: 0 })));
    const proxy = await startProxy(host.url);
    const answer = await ask(proxy.url, 'Hello', { headers: { 'accept-encoding': 'gzip, br' } });
    expect(answer.headers['content-encoding']).toBeUndefined();
    for (const word of ['one', 'two']) {
      next();
      await answer.until((text) => text.endsWith(frame(word)));
    }
    next();
    expect(await answer.whole()).toBe(frame('one') + frame('two') + DONE);
    await host.close();
    await proxy.close();
  });

  it('keep the order in which they are produced, 20,000 of them, whatever the client does meanwhile', async () => {
    const host = await startAgent(adapter, async function* () {
      for (let n = 1; n <= 20_000; n++) yield message(String(n));
    });
    const answer = await ask(host.url);
    const lines = (await answer.whole()).split('\n\n');
    expect(lines).toHaveLength(20_002);
    const numbers = lines.slice(0, 20_000).map((line) => Number(JSON.parse(line.slice(6)).data.content));
    expect(numbers.every((number, index) => number === index + 1)).toBe(true);
    await host.close();
  });

  it('are one line each for every client, also where a text has line breaks of whatever kind', async () => {
    const host = await startAgent(adapter, async function* () {
      yield message('a\nb\rc\r\nd\u0085e\u2028f\u2029g\u000bh\u000ci');
    });
    const answer = await ask(host.url);
    expect(await answer.whole()).toBe(
      'data: {"type":"message","data":{"content":"a\\nb\\rc\\r\\nd\\u0085e\\u2028f\\u2029g\\u000bh\\fi"}}\n\n' +
        DONE,
    );
    await host.close();
  });

  it('never mix with those of another query, of a hundred at once', async () => {
    const gather = deferred();
    let arrived = 0;
    const host = await startAgent(adapter, async function* ({ parts: [part] }) {
      const mine = part!.type === 'text' ? part!.text : '';
      if (++arrived === 100) gather.resolve();
      await gather.promise;
      for (let n = 0; n < 50; n++) {
        yield message(`${mine}:${n}`);
        if (n % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const names = Array.from({ length: 100 }, (_, index) => `query ${index}`);
    const texts = await Promise.all(names.map(async (name) => (await ask(host.url, name)).whole()));
    const expected = (name: string) =>
      Array.from({ length: 50 }, (_, n) => frame(`${name}:${n}`)).join('') + DONE;
    expect(texts).toEqual(names.map(expected));
    await host.close();
  });

  it('come on one kept-alive connection, query after query, beside refusals', async () => {
    const host = await startAgent(adapter, async function* () {
      yield message('Hi');
    });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; n < 20; n++) {
      expect(await (await ask(host.url, 'Hello', { agent })).whole()).toBe(frame('Hi') + DONE);
      expect((await request(host.url, { agent }, '{')).status).toBe(400);
    }
    agent.destroy();
    await host.close();
  });
});
