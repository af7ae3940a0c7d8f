import { NEVER, Observable } from 'rxjs';
import { type Envelope, message, type QueryModuleOptions } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, cancel, follow } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

/** The id of no run. */
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describeOnOneAdapter('DELETE {base}/query/{runId} on %s', (adapter) => {
  let host: Host;
  const start = async ({ handler, ...options }: QueryModuleOptions) =>
    (host = await startAgent(adapter, handler, options));
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  it(promise('cancel.stopped', 'and the stream ends as cancelled'), async () => {
    const agent = new ScriptedAgent();
    await start({ handler: agent.handler });
    const asked = await ask(host.url, 'Hello');
    const call = await agent.call(1);
    call.emit(message('a'));
    await asked.until('"a"');
    let hasStopped = false;
    void call.stopped.then(() => (hasStopped = true));
    const response = await cancel(host.url, asked.runId);
    expect(hasStopped).toBe(true);
    expect(call.context.signal.aborted).toBe(true);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: asked.runId, status: 'cancelled', events: 2 });
    expect(await asked.answer()).toEqual({ text: 'a', done: [{ status: 'cancelled' }] });
  });

  it(promise('cancel.stopped', 'an Observable is unsubscribed from'), async () => {
    let teardowns = 0;
    const handler = () => new Observable<Envelope>(() => () => void teardowns++);
    await start({ handler });
    const asked = await ask(host.url, 'Hello');
    expect((await cancel(host.url, asked.runId)).status).toBe(200);
    expect(teardowns).toBe(1);
    await asked.whole();
  });

  it(
    promise('cancel.deadline', 'what the handler emits later is dropped, and its session continues'),
    async () => {
      const agent = new ScriptedAgent(true);
      await start({ handler: agent.handler, runs: { stopDeadlineMs: 30 } });
      const asked = await ask(host.url, 'Hello', { kwargs: { session_id: 's' } });
      const next = ask(host.url, 'Next', { kwargs: { session_id: 's' } });
      const call = await agent.call(1);
      const response = await cancel(host.url, asked.runId);
      expect(response.status).toBe(202);
      expect(await response.json()).toMatchObject({ status: 'cancelled' });
      expect(host.agent.load().overdue).toBe(1);

      // The session continues although the handler has not stopped.
      (await agent.call(2)).finish();
      expect((await (await next).answer()).done).toEqual([{ status: 'completed' }]);
      call.emit(message('too late'));
      call.finish();
      await eventually(() => host.agent.load().overdue === 0);
      expect(await asked.whole()).toBe('data: {"type":"done","data":{"status":"cancelled"}}\n\n');
      const log = await (await follow(host.url, asked.runId)).allEnvelopes();
      expect(log).toEqual([{ type: 'done', data: { status: 'cancelled' } }]);
    },
  );

  it(promise('cancel.ended'), async () => {
    const agent = new ScriptedAgent();
    await start({ handler: agent.handler });
    const asked = await ask(host.url, 'Hello');
    (await agent.call(1)).finish();
    await asked.whole();
    const response = await cancel(host.url, asked.runId);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: 'completed' });
  });

  it(promise('cancel.waiting'), async () => {
    const agent = new ScriptedAgent();
    await start({ handler: agent.handler });
    const kwargs = { session_id: 's' };
    const first = ask(host.url, 'first', { kwargs });
    const call = await agent.call(1);
    const second = await ask(host.url, 'second', { kwargs });
    const response = await cancel(host.url, second.runId);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { status: 'cancelled', startedAt: null },
    ]);
    expect((await second.answer()).done).toEqual([{ status: 'cancelled' }]);
    call.finish();
    await (await first).whole();
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('cancel.stopped', 'for three requests at once'), async () => {
    const agent = new ScriptedAgent();
    await start({ handler: agent.handler });
    const asked = await ask(host.url, 'Hello');
    await agent.call(1);
    const responses = await Promise.all([1, 2, 3].map(() => cancel(host.url, asked.runId)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await asked.answer()).done).toEqual([{ status: 'cancelled' }]);
  });

  it(promise('cancel.deadline', 'also for a promise that never resolves'), async () => {
    await start({ handler: () => new Promise(() => undefined), runs: { stopDeadlineMs: 10 } });
    const asked = await ask(host.url, 'Hello');
    expect((await cancel(host.url, asked.runId)).status).toBe(202);
    expect((await asked.answer()).done).toEqual([{ status: 'cancelled' }]);
    host.idle = () => eventually(() => host.agent.load().followers === 0);
    expect(host.agent.load()).toMatchObject({ running: 0, waiting: 0, overdue: 1 });
  });

  it(promise('end.cancelled'), async () => {
    const handler = async function* (_: unknown, { signal }: { signal: AbortSignal }) {
      yield message('a');
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
    };
    await start({ handler });
    const asked = await ask(host.url, 'Hello');
    await asked.until('"a"');
    expect((await cancel(host.url, asked.runId)).status).toBe(200);
    expect((await asked.answer()).done).toEqual([{ status: 'cancelled' }]);
  });

  it(promise('status.not-found', 'DELETE of a run'), async () => {
    await start({ handler: () => NEVER });
    const response = await cancel(host.url, UNKNOWN);
    expect([response.status, (await response.json<{ code: string }>()).code]).toEqual([404, 'not_found']);
  });
});
