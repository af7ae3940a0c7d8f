import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { concat, NEVER, of } from 'rxjs';
import { type Envelope, file, message, type QueryModuleOptions } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { TestClock } from '../../src/testing/index.js';
import { promise } from '../promises.js';
import { ask, cancel, FULL } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent, startClockedAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

describeOnOneAdapter('The limits of runs on %s', (adapter) => {
  let host: Host | undefined;
  afterEach(() => host?.close());
  const start = async (handler: QueryModuleOptions['handler'], options: Partial<QueryModuleOptions> = {}) =>
    (host = await startAgent(adapter, handler, options));

  it(promise('capacity.overdue'), async () => {
    const agent = new ScriptedAgent(true);
    const { url, agent: service } = await start(agent.handler, {
      runs: { maxRunning: 2, stopDeadlineMs: 10 },
    });
    const asked = [await ask(url, '1'), await ask(url, '2'), await ask(url, '3'), await ask(url, '4')];
    await agent.call(2);
    const cancelled = await Promise.all(asked.slice(0, 2).map(({ runId }) => cancel(url, runId)));
    expect(cancelled.map(({ status }) => status)).toEqual([202, 202]);
    expect(service.load()).toMatchObject({ running: 0, waiting: 2, overdue: 2 });
    expect(agent.calls).toHaveLength(2);
    agent.calls[0]!.finish();
    await agent.call(3);
    expect(agent.calls).toHaveLength(3);
    for (const count of [2, 3]) (await agent.call(count)).finish();
    (await agent.call(4)).finish();
    await Promise.all(asked.map((reply) => reply.whole()));
    await eventually(() => service.load().overdue === 0);
  });

  /** 8 MB, more than the buffers of the system take. */
  async function* large() {
    for (let i = 0; i < 1000; i++) yield message('x'.repeat(8000));
  }

  it(promise('backpressure.time-limit', 'a follower that pauses longer than the time limit'), async () => {
    const clock = new TestClock();
    host = await startClockedAgent(adapter, clock, large, { runs: { timeoutMs: 2_500 } });
    const stalled = await ask(host.url, 'Hello', { headers: FULL, isStalled: true });
    await eventually(() => clock.left('backpressureMs').length > 0);
    await clock.advance(4_000);
    expect(host.agent.load().running).toBe(1);
    stalled.read();
    expect((await stalled.allEnvelopes()).at(-1)).toEqual({ type: 'done', data: { status: 'completed' } });
  });

  it(promise('backpressure.time-limit', 'a follower that never reads'), async () => {
    const { url, agent } = await start(large, { runs: { backpressureMs: 100 } });
    const stalled = await ask(url, 'Hello', { headers: FULL, isStalled: true });
    await eventually(() => agent.load().running === 0);
    stalled.read();
    expect((await stalled.allEnvelopes()).at(-1)).toEqual({
      type: 'done',
      data: {
        status: 'failed',
        error: {
          code: 'followers_stalled',
          message: 'The run was stopped: its followers have not read for 0.1 s.',
        },
      },
    });
  });

  it.each([
    ['memory:', 20, 'completed'],
    ['file', 20, 'completed'],
    ['memory:', 33, 'answer_too_fast'],
    ['file', 33, 'answer_too_fast'],
  ])(promise('backpressure.observable', '%s, %i Mi characters: %s'), async (database, count, end) => {
    const directory = await mkdtemp(join(tmpdir(), 'observable-'));
    const store = await openStore(database === 'file' ? `file:${join(directory, 'runs.db')}` : database);
    const part = message('x'.repeat(1024 * 1024));
    const { url } = await start(() => of(...Array.from({ length: count }, () => part)), { store });
    const envelopes = await (await ask(url)).allEnvelopes();
    const done = envelopes.at(-1)!.data as { status: string; error?: { code: string } };
    expect(done.error?.code ?? done.status).toBe(end);
    if (end === 'completed') expect(envelopes).toHaveLength(count + 1);
    await host!.close();
    host = undefined;
    await rm(directory, { recursive: true });
  });

  const small = file({ name: 'a', content: Buffer.alloc(600) });
  it.each<[string, Envelope[], string]>([
    ['33 texts of 1 Mi characters', Array(33).fill(message('x'.repeat(1024 * 1024))), 'answer_too_fast'],
    ['two files', [small, small], 'limit_exceeded'],
    ['one file', [small], 'run_timeout'],
    ['20,000 short texts', Array(20_000).fill(message('x')), 'run_timeout'],
  ])(promise('backpressure.observable', '%s behind a file that does not end'), async (_, behind, code) => {
    const endless = file({ name: 'endless', content: new ReadableStream<Uint8Array>() });
    const handler = () => concat(of(endless, ...behind), NEVER);
    // Only what waits for the time limit has a short one: a slow machine may need it for the answer itself.
    const timeoutMs = code === 'run_timeout' ? 500 : 60_000;
    const { url } = await start(handler, { runs: { timeoutMs }, limits: { filesBytes: 1000 } });
    const [done] = await (await ask(url)).allEnvelopes();
    expect(done).toMatchObject({ type: 'done', data: { error: { code } } });
  });
});
