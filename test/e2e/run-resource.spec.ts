import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, follow, FULL, get, type Reply } from '../support/client.js';
import { deferred } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { SlowRunStore, ticks } from '../support/slow-run-store.js';

/** A store that appends nothing until the test lets it. */
class StoppedStore extends SlowRunStore {
  readonly reached = deferred();
  readonly next = deferred();

  constructor() {
    super(() => 0);
  }

  override async append(...args: Parameters<SlowRunStore['append']>) {
    this.reached.resolve();
    await this.next.promise;
    return super.append(...args);
  }
}

describeOnOneAdapter('GET {base}/query/{runId} on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, {});
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  it(promise('run.json', 'while it waits, executes and has ended'), async () => {
    const kwargs = { session_id: 's' };
    const asked = [await ask(host.url, '1', { kwargs }), await ask(host.url, '2', { kwargs })];
    const call = await agent.call(1);
    const show = async (accept?: string) => {
      const reply = await get(host.url, `/query/${asked[1]!.runId}`, accept ? { accept } : {});
      expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(reply.headers['cache-control']).toBe('no-store');
      return reply.json();
    };
    const run = { id: asked[1]!.runId, session: 's', createdAt: ISO };
    expect(await show('application/json')).toEqual({
      ...run,
      status: 'waiting',
      startedAt: null,
      endedAt: null,
      events: 1,
    });
    call.finish();
    const second = await agent.call(2);
    second.emit(message('a'));
    await asked[1]!.until('"a"');
    expect(await show()).toEqual({ ...run, status: 'running', startedAt: ISO, endedAt: null, events: 2 });
    second.fail(new Error('secret'));
    await asked[1]!.whole();
    expect(await show('*/*')).toEqual({
      ...run,
      status: 'failed',
      startedAt: ISO,
      endedAt: ISO,
      events: 3,
      error: { code: 'handler_failed', message: 'The agent failed. The service has logged the cause.' },
    });
    await asked[0]!.whole();
  });

  it(promise('follow.any-number'), async () => {
    const asked = await ask(host.url, 'Hello', { headers: FULL });
    const call = await agent.call(1);
    const followers: Reply[] = [asked];
    for (let seq = 1; seq <= 20; seq++) {
      call.emit(message(`${seq}`));
      followers.push(await follow(host.url, asked.runId));
    }
    call.finish();
    const streams = await Promise.all(followers.map((follower) => follower.whole()));
    const expected = Array.from({ length: 21 }, (_, index) => `${asked.runId}.${index + 1}`);
    expect(asked.events.map(({ id }) => id)).toEqual(expected);
    expect(new Set(streams)).toEqual(new Set([asked.text]));
  });

  it(promise('follow.full-profile'), async () => {
    const asked = await ask(host.url, 'Hello');
    const call = await agent.call(1);
    call.emit(message('a'));
    call.finish();
    await asked.whole();
    const response = await follow(host.url, asked.runId);
    expect(await response.whole()).toBe(
      'retry: 1000\n' +
        `id: ${asked.runId}.1\ndata: {"type":"message","data":{"content":"a"}}\n\n` +
        `id: ${asked.runId}.2\ndata: {"type":"done","data":{"status":"completed"}}\n\n`,
    );
    expect(response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(response.headers['content-location']).toBe(`/query/${asked.runId}`);
  });

  it(promise('follow.at-end'), async () => {
    const asked = await ask(host.url, 'Hello');
    const call = await agent.call(1);
    call.emit(message('a'));
    await asked.until('"a"');
    const follower = await follow(host.url, `${asked.runId}?after=1`);
    expect(follower.status).toBe(200);
    call.finish();
    expect((await follower.allEvents()).map(({ id }) => id)).toEqual([`${asked.runId}.2`]);
    const end = await follow(host.url, `${asked.runId}?after=2`);
    expect([end.status, await end.whole()]).toEqual([204, '']);
    await asked.whole();
  });

  it.each([
    ['text/event-stream;q=0, application/json', 'application/json; charset=utf-8'],
    ['text/event-stream, application/json;q=0', 'text/event-stream; charset=utf-8'],
    ['application/json;q=0.5, text/event-stream;q=0.9', 'text/event-stream; charset=utf-8'],
    ['application/json, text/event-stream;q=0.9', 'application/json; charset=utf-8'],
    ['text/event-stream, application/json', 'text/event-stream; charset=utf-8'],
    ['application/json, text/event-stream', 'application/json; charset=utf-8'],
    ['text/event-stream, */*;q=0.1', 'text/event-stream; charset=utf-8'],
    ['*/*', 'application/json; charset=utf-8'],
  ])(promise('profile.q-values', 'Accept: %s is %s'), async (accept, contentType) => {
    const asked = await ask(host.url);
    (await agent.call(1)).finish();
    await asked.whole();
    const reply = await get(host.url, `/query/${asked.runId}`, { accept });
    expect(reply.headers['content-type']).toBe(contentType);
  });

  it(promise('run.log-first'), async () => {
    await host.close();
    const store = new StoppedStore();
    host = await startAgent(adapter, agent.handler, { store });
    const asked = await ask(host.url);
    const call = await agent.call(1);
    call.emit(message('a'));
    await store.reached.promise;
    await ticks(100);
    expect(asked.text).toBe('');
    store.next.resolve();
    await asked.until('"a"');
    call.finish();
    expect(await asked.answer()).toEqual({ text: 'a', done: [{ status: 'completed' }] });
  });

  it(promise('status.not-found', 'GET of a run'), async () => {
    for (const id of ['00000000-0000-4000-8000-000000000000', '%00', 'x'.repeat(90)]) {
      for (const headers of [FULL, { accept: 'application/json' }]) {
        const response = await follow(host.url, id, headers);
        expect([response.status, (await response.json<{ code: string }>()).code]).toEqual([404, 'not_found']);
      }
    }
  });
});
