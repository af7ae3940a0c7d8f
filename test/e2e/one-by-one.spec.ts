import http from 'node:http';
import compression from 'compression';
import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, request } from '../support/client.js';
import { deferred } from '../support/conditions.js';
import { describeOnBothAdapters, startAgent } from '../support/host.js';

const frame = (content: string) => `data: {"type":"message","data":{"content":"${content}"}}\n\n`;
const DONE = 'data: {"type":"done","data":{"status":"completed"}}\n\n';

/** A proxy that forwards every byte as it arrives. */
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

/** An agent that emits the next word only when the test asks for it. */
function stepwise() {
  const steps = [deferred(), deferred(), deferred()];
  let count = 0;
  const handler = async function* () {
    await steps[0]!.promise;
    yield message('one');
    await steps[1]!.promise;
    yield message('two');
    await steps[2]!.promise;
  };
  return { handler, next: () => steps[count++]!.resolve() };
}

describeOnBothAdapters('Events on %s', (adapter) => {
  it(promise('headers.immediate'), async () => {
    const { handler, next } = stepwise();
    const host = await startAgent(adapter, handler);
    const answer = await ask(host.url);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('');
    for (let step = 0; step < 3; step++) next();
    await answer.whole();
    await host.close();
  });

  it(promise('stream.one-by-one'), async () => {
    const { handler, next } = stepwise();
    const host = await startAgent(adapter, handler);
    const answer = await ask(host.url);
    next();
    expect(await answer.until((text) => text.length > 0)).toBe(frame('one'));
    next();
    expect(await answer.until((text) => text.includes('two'))).toBe(frame('one') + frame('two'));
    next();
    expect(await answer.whole()).toBe(frame('one') + frame('two') + DONE);
    await host.close();
  });

  it(
    promise('stream.one-by-one', 'also with compression, through a proxy that does not buffer'),
    async () => {
      const { handler, next } = stepwise();
      const host = await startAgent(
        adapter,
        handler,
        {},
        (app) => void app.use(compression({ threshold: 0 })),
      );
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
    },
  );

  it(promise('stream.order', '20,000 events'), async () => {
    const host = await startAgent(adapter, async function* () {
      for (let n = 1; n <= 20_000; n++) yield message(String(n));
    });
    const answer = await ask(host.url);
    const frames = Array.from({ length: 20_000 }, (_, index) => frame(`${index + 1}`));
    expect(await answer.whole()).toBe(frames.join('') + DONE);
    await host.close();
  });

  it(promise('stream.event', 'also where a text has line breaks of any kind'), async () => {
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

  it(promise('stream.separate', 'a hundred queries at once'), async () => {
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

  it(promise('http.kept-alive', 'also between refusals'), async () => {
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
