import { message } from '../../src/index.js';
import { answerOf, Connection, envelopesOf, FULL, post } from '../support/client.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

describe.each(ADAPTERS)('A service at its capacity, on %s', (adapter) => {
  let host: Host;
  let puppet: Puppet;
  const start = async (maxRunning: number, maxWaiting: number) => {
    puppet = new Puppet();
    host = await startAgent(adapter, puppet.handler, { runs: { maxRunning, maxWaiting } });
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const refused = async (response: Response) => {
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toContain('application/problem+json');
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({ code: 'at_capacity', status: 503 });
  };

  it('lets queries wait for a place, tells them so, and calls them up in order', async () => {
    await start(1, 2);
    const asked = [
      await Connection.post(host.url, '1'),
      await Connection.post(host.url, '2'),
      await Connection.post(host.url, '3'),
    ];
    expect(host.agent.load()).toMatchObject({ running: 1, waiting: 2 });
    for (const [index, connection] of asked.entries()) {
      const call = await puppet.call(index + 1);
      expect([call.text, puppet.calls.length]).toEqual([`${index + 1}`, index + 1]);
      call.finish();
      const envelopes = envelopesOf((await connection.readBytes()).toString());
      expect(envelopes.filter(({ type }) => type === 'log').map(({ data }) => data)).toEqual(
        index === 0 ? [] : [{ message: 'Waiting for a place: 1 runs are under way, as many as may.' }],
      );
    }
  });

  it('refuses one query more with 503 and Retry-After, and takes it when there is a place', async () => {
    await start(1, 1);
    const asked = [await Connection.post(host.url, '1'), await Connection.post(host.url, '2')];
    await refused(await post(host.url, '3'));
    await refused(await post(host.url, '3', { kwargs: { session_id: 's' } }));
    await refused(await post(host.url, '3', { headers: { prefer: 'respond-async' } }));
    (await puppet.call(1)).finish();
    await asked[0]!.readBytes();
    asked.push(await Connection.post(host.url, '3'));
    for (const count of [2, 3]) (await puppet.call(count)).finish();
    for (const connection of asked.slice(1)) {
      expect(answerOf((await connection.readBytes()).toString()).done).toEqual([{ status: 'completed' }]);
    }
  });

  it('has no line where none may wait, not even that of a session', async () => {
    await start(2, 0);
    const kwargs = { session_id: 's' };
    const first = await Connection.post(host.url, '1', {}, kwargs);
    await refused(await post(host.url, '2', { kwargs }));
    // There is a place for whoever need not wait.
    const other = await Connection.post(host.url, '3');
    expect(other.status).toBe(200);
    for (const count of [1, 2]) (await puppet.call(count)).finish();
    await Promise.all([first.readBytes(), other.readBytes()]);
  });

  it('still answers those who ask for a run that there is', async () => {
    await start(1, 0);
    const headers = { ...FULL, 'idempotency-key': 'k' };
    const first = await Connection.post(host.url, '1', headers);
    const call = await puppet.call(1);
    call.emit(message('a'));
    await first.readUntil('"a"');
    await refused(await post(host.url, '2'));
    const attached = await Connection.post(host.url, '1', headers);
    const resumed = await Connection.post(host.url, '1', { ...FULL, 'last-event-id': `${first.runId}.1` });
    expect([attached.status, resumed.status]).toEqual([200, 200]);
    call.finish();
    expect(answerOf((await attached.readBytes()).toString()).text).toBe('a');
    expect(answerOf((await resumed.readBytes()).toString()).text).toBe('');
    await first.readBytes();
  });

  it('gives the place of a waiting query that leaves to the next', async () => {
    await start(1, 1);
    const first = await Connection.post(host.url, '1');
    const second = await Connection.post(host.url, '2');
    await fetch(`${host.url}/query/${second.runId}`, { method: 'DELETE' });
    await second.readBytes();
    const third = await Connection.post(host.url, '3');
    expect(third.status).toBe(200);
    (await puppet.call(1)).finish();
    expect((await puppet.call(2)).text).toBe('3');
    puppet.calls[1]!.finish();
    await Promise.all([first.readBytes(), third.readBytes()]);
  });
});
