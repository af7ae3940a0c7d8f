import { NEVER, Observable } from 'rxjs';
import { type Envelope, message, type QueryModuleOptions } from '../../src/index.js';
import { answerOf, Connection, FULL, post } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

describe.each(ADAPTERS)('DELETE {base}/query/{runId} on %s', (adapter) => {
  let host: Host;
  const start = async ({ handler, ...options }: QueryModuleOptions) =>
    (host = await startAgent(adapter, handler, options));
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const cancel = (runId: string) => fetch(`${host.url}/query/${runId}`, { method: 'DELETE' });

  it('answers when the handler has stopped, and the stream ends as cancelled', async () => {
    const puppet = new Puppet();
    await start({ handler: puppet.handler });
    const asked = await Connection.post(host.url, 'Hello');
    const call = await puppet.call(1);
    call.emit(message('a'));
    await asked.readUntil('"a"');
    let hasStopped = false;
    void call.stopped.then(() => (hasStopped = true));
    const response = await cancel(asked.runId);
    expect(hasStopped).toBe(true);
    expect(call.context.signal.aborted).toBe(true);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: asked.runId, status: 'cancelled', events: 2 });
    expect((await asked.readBytes()).toString()).toBe(
      'data: {"type":"done","data":{"status":"cancelled"}}\n\n',
    );
  });

  it('ends the subscription of a handler that answers with an Observable', async () => {
    let teardowns = 0;
    const handler = () => new Observable<Envelope>(() => () => void teardowns++);
    await start({ handler });
    const asked = await Connection.post(host.url, 'Hello');
    expect((await cancel(asked.runId)).status).toBe(200);
    expect(teardowns).toBe(1);
    await asked.readBytes();
  });

  it('answers 202 at the deadline where the handler pays no attention, drops what comes later, and counts it', async () => {
    const puppet = new Puppet(true);
    await start({ handler: puppet.handler, runs: { stopDeadlineMs: 30 } });
    const asked = await Connection.post(host.url, 'Hello', {}, { session_id: 's' });
    const next = post(host.url, 'Next', { kwargs: { session_id: 's' } });
    const call = await puppet.call(1);
    const response = await cancel(asked.runId);
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({ status: 'cancelled' });
    expect(host.agent.load().overdue).toBe(1);

    // The session goes on although the handler has not stopped.
    (await puppet.call(2)).finish();
    expect(answerOf(await (await next).text()).done).toEqual([{ status: 'completed' }]);
    call.emit(message('too late'));
    call.finish();
    await eventually(() => host.agent.load().overdue === 0);
    expect((await asked.readBytes()).toString()).toBe(
      'data: {"type":"done","data":{"status":"cancelled"}}\n\n',
    );
    const log = await fetch(`${host.url}/query/${asked.runId}`, { headers: FULL });
    expect(await log.text()).not.toContain('too late');
  });

  it('leaves a run that has ended as it is', async () => {
    const puppet = new Puppet();
    await start({ handler: puppet.handler });
    const asked = await Connection.post(host.url, 'Hello');
    (await puppet.call(1)).finish();
    await asked.readBytes();
    const response = await cancel(asked.runId);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: 'completed' });
  });

  it('ends a run that waits in line without calling its handler', async () => {
    const puppet = new Puppet();
    await start({ handler: puppet.handler });
    const kwargs = { session_id: 's' };
    const first = post(host.url, 'first', { kwargs });
    const call = await puppet.call(1);
    const second = await Connection.post(host.url, 'second', {}, kwargs);
    const response = await cancel(second.runId);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { status: 'cancelled', startedAt: null },
    ]);
    expect(answerOf((await second.readBytes()).toString()).done).toEqual([{ status: 'cancelled' }]);
    call.finish();
    await (await first).text();
    expect(puppet.calls).toHaveLength(1);
  });

  it('can be asked for by several at once', async () => {
    const puppet = new Puppet();
    await start({ handler: puppet.handler });
    const asked = await Connection.post(host.url, 'Hello');
    await puppet.call(1);
    const responses = await Promise.all([1, 2, 3].map(() => cancel(asked.runId)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answerOf((await asked.readBytes()).toString()).done).toEqual([{ status: 'cancelled' }]);
  });

  it('ends a handler that has promised an answer and never gives one', async () => {
    await start({ handler: () => new Promise(() => undefined), runs: { stopDeadlineMs: 10 } });
    const asked = await Connection.post(host.url, 'Hello');
    expect((await cancel(asked.runId)).status).toBe(202);
    expect(answerOf((await asked.readBytes()).toString()).done).toEqual([{ status: 'cancelled' }]);
    host.idle = () => eventually(() => host.agent.load().followers === 0);
    expect(host.agent.load()).toMatchObject({ running: 0, waiting: 0, overdue: 1 });
  });

  it('makes a handler that throws when its signal is raised a cancelled run, not a failed one', async () => {
    const handler = async function* (_: unknown, { signal }: { signal: AbortSignal }) {
      yield message('a');
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
    };
    await start({ handler });
    const asked = await Connection.post(host.url, 'Hello');
    await asked.readUntil('"a"');
    expect((await cancel(asked.runId)).status).toBe(200);
    expect(answerOf((await asked.readBytes()).toString()).done).toEqual([{ status: 'cancelled' }]);
  });

  it('is 404 where there is no such run', async () => {
    await start({ handler: () => NEVER });
    const response = await cancel('00000000-0000-4000-8000-000000000000');
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([404, 'not_found']);
  });
});
