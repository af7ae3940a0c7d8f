import { type DisconnectPolicy, message } from '../../src/index.js';
import { answerOf, Connection, FULL, post } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

describe.each(ADAPTERS)('When the last follower of a run leaves, on %s', (adapter) => {
  let host: Host;
  let puppet: Puppet;
  const start = async (disconnect?: DisconnectPolicy) => {
    puppet = new Puppet();
    host = await startAgent(adapter, puppet.handler, { ...(disconnect && { runs: { disconnect } }) });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const leave = async (headers: object = {}) => {
    const connection = await Connection.post(host.url, 'Hello', headers);
    const call = await puppet.call(puppet.calls.length || 1);
    call.emit(message('a'));
    await connection.readUntil('"a"');
    connection.cut();
    await eventually(() => host.agent.load().followers === 0);
    return { runId: connection.runId, call };
  };
  const follow = async (runId: string) =>
    answerOf(await (await fetch(`${host.url}/query/${runId}`, { headers: FULL })).text());

  it('it goes on where the policy is to continue', async () => {
    await start('continue');
    const { runId, call } = await leave();
    expect(call.context.signal.aborted).toBe(false);
    call.emit(message('b'));
    call.finish();
    await host.idle();
    expect(await follow(runId)).toEqual({ text: 'ab', done: [{ status: 'completed' }] });
  });

  it('it is cancelled where the policy is to cancel', async () => {
    await start('cancel');
    const { runId, call } = await leave();
    await call.stopped;
    await host.idle();
    expect(await follow(runId)).toEqual({ text: 'a', done: [{ status: 'cancelled' }] });
  });

  it('it is cancelled some time later where nobody comes back', async () => {
    await start({ graceMs: 20 });
    const { runId, call } = await leave();
    await call.stopped;
    await host.idle();
    expect(await follow(runId)).toEqual({ text: 'a', done: [{ status: 'cancelled' }] });
  });

  it('it goes on where somebody comes back in time, and may be left again', async () => {
    await start({ graceMs: 60_000 });
    const { runId, call } = await leave();
    const back = await Connection.open(`${host.url}/query/${runId}`, { headers: FULL });
    call.emit(message('b'));
    await back.readUntil('"b"');
    back.cut();
    await eventually(() => host.agent.load().followers === 0);
    expect(call.context.signal.aborted).toBe(false);
    call.finish();
    await host.idle();
    expect(await follow(runId)).toEqual({ text: 'ab', done: [{ status: 'completed' }] });
  });

  it('it is left alone while another follower stays', async () => {
    await start('cancel');
    const first = await Connection.post(host.url, 'Hello');
    const call = await puppet.call(1);
    const second = await Connection.open(`${host.url}/query/${first.runId}`, { headers: FULL });
    first.cut();
    await eventually(() => host.agent.load().followers === 1);
    call.emit(message('a'));
    call.finish();
    expect(answerOf((await second.readBytes()).toString())).toEqual({
      text: 'a',
      done: [{ status: 'completed' }],
    });
  });

  it('the default gives it half a minute', async () => {
    await start();
    expect(host.agent.options.disconnect).toEqual({ graceMs: 30_000 });
    const { call } = await leave();
    expect(call.context.signal.aborted).toBe(false);
    call.finish();
  });

  it('it goes on, whatever the policy, where the caller preferred to be answered at once', async () => {
    await start('cancel');
    const named = await post(host.url, 'Hello', { headers: { Prefer: 'wait=1, Respond-Async' } });
    expect(named.status).toBe(202);
    const { id } = (await named.json()) as { id: string };
    expect(named.headers.get('location')).toBe(`/query/${id}`);
    expect(named.headers.get('preference-applied')).toBe('respond-async');
    const call = await puppet.call(1);
    call.emit(message('a'));
    const follower = await Connection.open(`${host.url}/query/${id}`, { headers: FULL });
    await follower.readUntil('"a"');
    follower.cut();
    await eventually(() => host.agent.load().followers === 0);
    expect(call.context.signal.aborted).toBe(false);
    call.finish();
    await host.idle();
    expect(await follow(id)).toEqual({ text: 'a', done: [{ status: 'completed' }] });
  });

  it('nothing is left behind after a thousand clients have left in the middle', async () => {
    await start('cancel');
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        Array.from({ length: 100 }, async () => {
          const connection = await Connection.post(host.url, 'Hello');
          connection.cut();
        }),
      );
      await host.idle();
    }
    expect(puppet.calls).toHaveLength(1000);
    expect(puppet.calls.every(({ context }) => context.signal.aborted)).toBe(true);
  });
});
