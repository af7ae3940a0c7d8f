import { type DisconnectPolicy, log, MemoryRunStore, message, type RunOptions } from '../../../src/index.js';
import { TestClock } from '../../../src/testing/index.js';
import { promise } from '../../promises.js';
import { answer, asks, askingRun, finish, jsonAt, quarter, REFUND, YES } from '../../support/asking.js';
import { ask, cancel, follow, FULL } from '../../support/client.js';
import { eventually } from '../../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent, startClockedAgent } from '../../support/host.js';
import { ScriptedAgent } from '../../support/scripted-agent.js';

describeOnOneAdapter('The slot of a run that asks, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (runs: Partial<RunOptions>) => {
    agent = new ScriptedAgent();
    const owner = ({ headers }: { headers: Record<string, unknown> }) => headers['x-owner'] as string;
    host = await startAgent(adapter, agent.handler, { runs, owner, store: new MemoryRunStore() });
  };
  afterEach(() => host.close());
  /** A query that waits for a slot. */
  const waiting = async (text: string, owner = 'ann') => {
    const asked = await ask(host.url, text, { headers: { ...FULL, 'x-owner': owner } });
    await asked.until('Waiting');
    return asked;
  };
  const ann = { headers: { 'x-owner': 'ann' } };
  /** The order in which handlers go on or are called, as each ends the one before. */
  const texts = () => agent.calls.map(({ text }) => text);

  it(promise('asking.slot'), async () => {
    await start({ maxRunning: 1 });
    const run = await askingRun(host, agent, [REFUND], ann);
    expect(host.agent.load()).toMatchObject({ running: 0, asking: 1, waiting: 0 });
    const other = await ask(host.url, 'Other', ann);
    const call = await agent.callFor('Other');
    expect(host.agent.load()).toMatchObject({ running: 1, asking: 1 });
    call.emit(message('Done.'));
    call.finish();
    expect((await other.answer()).text).toBe('Done.');
    await answer(host.url, run.runId, [YES], ann.headers);
    await finish(run);
  });

  it(promise('asking.slot', 'a query that waits starts when the one before asks'), async () => {
    await start({ maxRunning: 1 });
    const first = await ask(host.url, 'First', { ...ann, headers: { ...FULL, ...ann.headers } });
    const call = await agent.callFor('First');
    const second = await waiting('Second');
    const answers = asks(call, [REFUND]);
    (await agent.callFor('Second')).finish();
    await second.whole();
    await answer(host.url, first.runId, [YES], ann.headers);
    await finish({ answers, call, asked: first, runId: first.runId });
  });

  it.each<[string, Partial<RunOptions>]>([
    ['maxRunning: 1', { maxRunning: 1 }],
    ['maxRunningPerOwner: 1', { maxRunning: 10, maxRunningPerOwner: 1 }],
    ['both', { maxRunning: 1, maxRunningPerOwner: 1 }],
  ])(promise('asking.first', '%s'), async (_, runs) => {
    await start(runs);
    const asking = await askingRun(host, agent, [REFUND], ann);
    const older = await askingRun(host, agent, [REFUND], { ...ann, text: 'Older' });
    const running = await ask(host.url, 'Running', ann);
    const call = await agent.callFor('Running');
    const younger = [await waiting('Younger 1'), await waiting('Younger 2')];
    // In the order of the answers, whichever asked first.
    for (const { runId } of [older, asking])
      expect(await (await answer(host.url, runId, [YES], ann.headers)).json()).toMatchObject({
        status: 'waiting',
      });
    expect(host.agent.load()).toMatchObject({ running: 1 });
    call.finish();
    await running.whole();
    await older.answers;
    expect(await jsonAt(host.url, `/query/${asking.runId}`, ann.headers)).toMatchObject({
      status: 'waiting',
    });
    await finish(older);
    await asking.answers;
    expect(texts()).toEqual(['Hi', 'Older', 'Running']);
    await finish(asking);
    for (const [index, reply] of younger.entries()) {
      (await agent.callFor(`Younger ${index + 1}`)).finish();
      await reply.whole();
    }
  });

  it(promise('asking.first', 'also before one that is next but has no slot'), async () => {
    await start({ maxRunning: 1, maxRunningPerOwner: 1 });
    const asking = await askingRun(host, agent, [REFUND], ann);
    const bob = await ask(host.url, 'Bob', { headers: { 'x-owner': 'bob' } });
    const call = await agent.callFor('Bob');
    const younger = [await waiting('Younger 1'), await waiting('Younger 2')];
    await answer(host.url, asking.runId, [YES], ann.headers);
    call.finish();
    await bob.whole();
    await asking.answers;
    expect(texts()).toEqual(['Hi', 'Bob']);
    await finish(asking);
    for (const [index, reply] of younger.entries()) {
      (await agent.callFor(`Younger ${index + 1}`)).finish();
      await reply.whole();
    }
    expect(texts().slice(2)).toEqual(['Younger 1', 'Younger 2']);
  });

  it(promise('asking.turns'), async () => {
    await start({ maxRunning: 1 });
    const asking = await askingRun(host, agent, [REFUND], ann);
    const running = await ask(host.url, 'Running', ann);
    const call = await agent.callFor('Running');
    const bobs = [await waiting('Bob 1', 'bob'), await waiting('Bob 2', 'bob')];
    const younger = await waiting('Younger');
    await answer(host.url, asking.runId, [YES], ann.headers);
    call.finish();
    await running.whole();
    (await agent.callFor('Bob 1')).finish();
    await asking.answers;
    expect(texts()).toEqual(['Hi', 'Running', 'Bob 1']);
    await finish(asking);
    (await agent.callFor('Bob 2')).finish();
    (await agent.callFor('Younger')).finish();
    for (const reply of [...bobs, younger]) await reply.whole();
    expect(texts().slice(3)).toEqual(['Bob 2', 'Younger']);
  });

  it(promise('asking.cancel', 'while it waits for a slot, although its handler takes its time'), async () => {
    agent = new ScriptedAgent(true);
    const runs = { maxRunning: 1, stopDeadlineMs: 60_000 };
    host = await startAgent(adapter, agent.handler, { runs });
    const asking = await askingRun(host, agent);
    const running = await ask(host.url, 'Running');
    const call = await agent.callFor('Running');
    await answer(host.url, asking.runId, [YES]);
    const cancelling = cancel(host.url, asking.runId);
    await expect(asking.answers).rejects.toThrow('The run is cancelled.');
    call.finish();
    await running.whole();
    await eventually(() => host.agent.load().running === 1);
    // Its handler has the slot until it has stopped.
    const other = await waiting('Other');
    asking.call.finish();
    const { status } = await cancelling;
    expect(status).toBe(200);
    (await agent.callFor('Other')).finish();
    await other.whole();
    expect((await asking.asked.answer()).done).toEqual([{ status: 'cancelled' }]);
  });
});

describeOnOneAdapter('The clocks of a run that asks, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  let clock: TestClock;
  const start = async (disconnect: DisconnectPolicy, timeoutMs = 60_000) => {
    agent = new ScriptedAgent();
    clock = new TestClock();
    host = await startClockedAgent(adapter, clock, agent.handler, { runs: { disconnect, timeoutMs } });
  };
  afterEach(() => host.close());
  const gone = async (run: { asked: { cut(): void } }) => {
    run.asked.cut();
    await eventually(() => host.agent.load().followers === 0);
  };
  const statusOf = async (runId: string) => (await jsonAt(host.url, `/query/${runId}`))['status'];

  it(promise('asking.time-limit'), async () => {
    await start('continue');
    const asked = await ask(host.url, 'Hi');
    const call = await agent.call(1);
    await clock.advance(40_000);
    const answers = asks(call, [REFUND]);
    await eventually(() => host.agent.load().asking === 1);
    expect(clock.left('timeoutMs')).toEqual([]);
    await clock.advance(3_600_000);
    await answer(host.url, asked.runId, [YES]);
    await answers;
    expect(clock.left('timeoutMs')).toEqual([20_000]);
    await clock.pass('timeoutMs');
    await call.stopped;
    const log = await (await follow(host.url, asked.runId)).whole();
    expect(log).toContain('"done","data":{"status":"failed","error":{"code":"run_timeout"');
  });

  it.each<[string, DisconnectPolicy]>([
    ['cancel', 'cancel'],
    ['grace', { graceMs: 1_000 }],
  ])(promise('asking.disconnect', '%s: the tab closes'), async (_, policy) => {
    await start(policy);
    const run = await askingRun(host, agent);
    await gone(run);
    expect(clock.left('graceMs')).toEqual([]);
    await clock.advance(3_600_000);
    expect(await statusOf(run.runId)).toBe('input_required');
    // Who answers and follows counts again.
    const stream = await answer(host.url, run.runId, [YES], FULL);
    await run.answers;
    await stream.until('input_resolved');
    expect(await statusOf(run.runId)).toBe('running');
    await gone({ asked: stream });
    if (policy !== 'cancel') await clock.pass('graceMs');
    await run.call.stopped;
    await host.idle();
    expect(await statusOf(run.runId)).toBe('cancelled');
  });

  it(promise('asking.disconnect', 'the tab closes before the run asks'), async () => {
    await start({ graceMs: 1_000 });
    const asked = await ask(host.url, 'Hi');
    const call = await agent.call(1);
    await gone({ asked });
    expect(clock.left('graceMs')).toEqual([1_000]);
    const answers = asks(call, [quarter()]);
    await eventually(() => host.agent.load().asking === 1);
    await clock.advance(3_600_000);
    expect(await statusOf(asked.runId)).toBe('input_required');
    await cancel(host.url, asked.runId);
    await expect(answers).rejects.toThrow('The run is cancelled.');
  });

  it.each<DisconnectPolicy>(['cancel', { graceMs: 1_000 }])(
    promise('answer.unfollowed', '%j'),
    async (policy) => {
      await start(policy);
      const run = await askingRun(host, agent);
      await gone(run);
      expect((await answer(host.url, run.runId, [YES])).status).toBe(200);
      await run.answers;
      expect(clock.left('graceMs')).toEqual([]);
      run.call.emit(log('Still here.'));
      run.call.finish();
      await host.idle();
      expect(await statusOf(run.runId)).toBe('completed');
    },
  );
});
