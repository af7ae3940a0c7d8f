import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, cancel, FULL, type Reply } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

describeOnOneAdapter('A service at its capacity, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  const start = async (maxRunning: number, maxWaiting: number) => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, { runs: { maxRunning, maxWaiting } });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const expectRefusal = async (reply: Reply) => {
    expect(reply.status).toBe(503);
    expect(reply.headers['content-type']).toBe('application/problem+json');
    expect(reply.headers['retry-after']).toBe('5');
    expect(await reply.json()).toMatchObject({ code: 'at_capacity', status: 503 });
  };

  it(promise('capacity.wait'), async () => {
    await start(1, 2);
    const asked = [await ask(host.url, '1'), await ask(host.url, '2'), await ask(host.url, '3')];
    expect(host.agent.load()).toMatchObject({ running: 1, waiting: 2 });
    for (const [index, connection] of asked.entries()) {
      const call = await agent.call(index + 1);
      expect([call.text, agent.calls.length]).toEqual([`${index + 1}`, index + 1]);
      call.finish();
      const envelopes = await connection.allEnvelopes();
      expect(envelopes.filter(({ type }) => type === 'log').map(({ data }) => data)).toEqual(
        index === 0 ? [] : [{ message: 'Waiting for a slot: 1 handlers are executing, which is the limit.' }],
      );
    }
  });

  it(promise('capacity.wait', 'also while the next query of a session is waiting'), async () => {
    await start(1, 2);
    const kwargs = { session_id: 's' };
    const asked = [await ask(host.url, 'first of s', { kwargs }), await ask(host.url, 'without a session')];
    asked.push(await ask(host.url, 'second of s', { kwargs }));
    for (const count of [1, 2, 3]) (await agent.call(count)).finish();
    await Promise.all(asked.map((reply) => reply.whole()));
    expect(agent.calls.map(({ text }) => text)).toEqual(['first of s', 'without a session', 'second of s']);
  });

  it(promise('capacity.refuse', 'until a slot is free'), async () => {
    await start(1, 1);
    const asked = [await ask(host.url, '1'), await ask(host.url, '2')];
    await expectRefusal(await ask(host.url, '3'));
    await expectRefusal(await ask(host.url, '3', { kwargs: { session_id: 's' } }));
    await expectRefusal(await ask(host.url, '3', { headers: { prefer: 'respond-async' } }));
    (await agent.call(1)).finish();
    await asked[0]!.whole();
    asked.push(await ask(host.url, '3'));
    for (const count of [2, 3]) (await agent.call(count)).finish();
    for (const connection of asked.slice(1)) {
      expect((await connection.answer()).done).toEqual([{ status: 'completed' }]);
    }
  });

  it(promise('capacity.refuse', 'also a second query of a session where no query may wait'), async () => {
    await start(2, 0);
    const kwargs = { session_id: 's' };
    const first = await ask(host.url, '1', { kwargs });
    await expectRefusal(await ask(host.url, '2', { kwargs }));
    // A query that need not wait is still admitted.
    const other = await ask(host.url, '3');
    expect(other.status).toBe(200);
    for (const count of [1, 2]) (await agent.call(count)).finish();
    await Promise.all([first.whole(), other.whole()]);
  });

  it(promise('capacity.existing-runs'), async () => {
    await start(1, 0);
    const headers = { ...FULL, 'idempotency-key': 'k' };
    const first = await ask(host.url, '1', { headers });
    const call = await agent.call(1);
    call.emit(message('a'));
    await first.until('"a"');
    await expectRefusal(await ask(host.url, '2'));
    const attached = await ask(host.url, '1', { headers });
    const resumed = await ask(host.url, '1', { headers: { ...FULL, 'last-event-id': `${first.runId}.1` } });
    expect([attached.status, resumed.status]).toEqual([200, 200]);
    call.finish();
    expect((await attached.answer()).text).toBe('a');
    expect((await resumed.answer()).text).toBe('');
    await first.whole();
  });

  it(promise('capacity.freed'), async () => {
    await start(1, 1);
    const first = await ask(host.url, '1');
    const second = await ask(host.url, '2');
    await cancel(host.url, second.runId);
    await second.whole();
    const third = await ask(host.url, '3');
    expect(third.status).toBe(200);
    (await agent.call(1)).finish();
    expect((await agent.call(2)).text).toBe('3');
    agent.calls[1]!.finish();
    await Promise.all([first.whole(), third.whole()]);
  });
});
