import { type DisconnectPolicy, message, RUN_DEFAULTS } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, follow } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

describeOnOneAdapter('When the last follower of a run leaves, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (disconnect?: DisconnectPolicy) => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, { ...(disconnect && { runs: { disconnect } }) });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const leave = async () => {
    const connection = await ask(host.url);
    const call = await agent.call(1);
    call.emit(message('a'));
    await connection.until('"a"');
    connection.cut();
    await eventually(() => host.agent.load().followers === 0);
    return { runId: connection.runId, call };
  };
  const logOf = async (runId: string) => (await follow(host.url, runId)).answer();

  it(promise('disconnect.continue'), async () => {
    await start('continue');
    const { runId, call } = await leave();
    expect(call.context.signal.aborted).toBe(false);
    call.emit(message('b'));
    call.finish();
    await host.idle();
    expect(await logOf(runId)).toEqual({ text: 'ab', done: [{ status: 'completed' }] });
  });

  it(promise('disconnect.cancel'), async () => {
    await start('cancel');
    const { runId, call } = await leave();
    await call.stopped;
    await host.idle();
    expect(await logOf(runId)).toEqual({ text: 'a', done: [{ status: 'cancelled' }] });
  });

  it(promise('disconnect.grace', 'no follower returns'), async () => {
    await start({ graceMs: 20 });
    const { runId, call } = await leave();
    await call.stopped;
    await host.idle();
    expect(await logOf(runId)).toEqual({ text: 'a', done: [{ status: 'cancelled' }] });
  });

  it(promise('disconnect.grace', 'a follower returns, and leaves again'), async () => {
    await start({ graceMs: 60_000 });
    const { runId, call } = await leave();
    const back = await follow(host.url, runId);
    call.emit(message('b'));
    await back.until('"b"');
    back.cut();
    await eventually(() => host.agent.load().followers === 0);
    expect(call.context.signal.aborted).toBe(false);
    call.finish();
    await host.idle();
    expect(await logOf(runId)).toEqual({ text: 'ab', done: [{ status: 'completed' }] });
  });

  it(promise('disconnect.other-followers'), async () => {
    await start('cancel');
    const first = await ask(host.url, 'Hello');
    const call = await agent.call(1);
    const second = await follow(host.url, first.runId);
    first.cut();
    await eventually(() => host.agent.load().followers === 1);
    call.emit(message('a'));
    call.finish();
    expect(await second.answer()).toEqual({
      text: 'a',
      done: [{ status: 'completed' }],
    });
  });

  it(promise('disconnect.default'), async () => {
    await start();
    expect(RUN_DEFAULTS.disconnect).toEqual({ graceMs: 30_000 });
    const { call } = await leave();
    expect(call.context.signal.aborted).toBe(false);
    call.finish();
  });

  it(promise('disconnect.respond-async'), async () => {
    await start('cancel');
    const named = await ask(host.url, 'Hello', { headers: { Prefer: 'wait=1, Respond-Async' } });
    expect(named.status).toBe(202);
    const { id } = await named.json<{ id: string }>();
    expect(named.headers['location']).toBe(`/query/${id}`);
    expect(named.headers['preference-applied']).toBe('respond-async');
    const call = await agent.call(1);
    call.emit(message('a'));
    const follower = await follow(host.url, id);
    await follower.until('"a"');
    follower.cut();
    await eventually(() => host.agent.load().followers === 0);
    expect(call.context.signal.aborted).toBe(false);
    call.finish();
    await host.idle();
    expect(await logOf(id)).toEqual({ text: 'a', done: [{ status: 'completed' }] });
  });
});
