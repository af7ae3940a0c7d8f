import { message } from '../../src/index.js';
import { answerOf, Connection, FULL } from '../support/client.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

describe.each(ADAPTERS)('What belongs to one caller, on %s', (adapter) => {
  let host: Host;
  let puppet: Puppet;
  beforeEach(async () => {
    puppet = new Puppet();
    host = await startAgent(adapter, puppet.handler, {
      owner: async (request: { headers: Record<string, string> }) => request.headers['x-caller'],
    });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  it('does not exist for another, in every way to ask for it', async () => {
    const asked = await Connection.post(host.url, 'Hello', { 'x-caller': 'ann' }, { session_id: 's' });
    const call = await puppet.call(1);
    expect(call.context.owner).toBe('ann');
    const unknown = '00000000-0000-4000-8000-000000000000';
    const ways = (caller: object, runId: string, session: string) => {
      const json = { 'content-type': 'application/json' };
      const body = '{"parts":[{"type":"text","text":"a"}]}';
      const run = `${host.url}/query/${runId}`;
      const sessionUrl = `${host.url}/query/sessions/${session}`;
      return [
        fetch(run, { headers: { ...caller } }),
        fetch(run, { headers: { ...caller, ...FULL } }),
        fetch(run, { headers: { ...caller, ...FULL, 'last-event-id': `${runId}.0` } }),
        fetch(run, { method: 'DELETE', headers: { ...caller } }),
        fetch(`${host.url}/query`, {
          method: 'POST',
          headers: { ...caller, ...json, 'last-event-id': `${runId}.0` },
          body,
        }),
        fetch(sessionUrl, { headers: { ...caller } }),
        fetch(sessionUrl, { method: 'DELETE', headers: { ...caller } }),
      ];
    };
    const read = (responses: Promise<Response>[]) =>
      Promise.all(
        responses.map(async (asking) => {
          const response = await asking;
          const headers = [...response.headers].filter(([name]) => name !== 'date');
          return [response.status, headers, await response.text()];
        }),
      );
    const missing = await read(ways({ 'x-caller': 'bob' }, unknown, 'unknown'));
    expect(missing.map(([status]) => status)).toEqual([404, 404, 404, 404, 404, 404, 404]);
    expect(await read(ways({ 'x-caller': 'bob' }, asked.runId, 's'))).toEqual(missing);
    expect(await read(ways({}, asked.runId, 's'))).toEqual(missing);

    expect(call.context.signal.aborted).toBe(false);
    call.emit(message('for ann'));
    call.finish();
    expect(answerOf((await asked.readBytes()).toString())).toEqual({
      text: 'for ann',
      done: [{ status: 'completed' }],
    });
  });

  it('is shared by all who are anonymous', async () => {
    const asked = await Connection.post(host.url, 'Hello');
    const call = await puppet.call(1);
    expect(call.context.owner).toBe('anonymous');
    const response = await fetch(`${host.url}/query/${asked.runId}`, { method: 'DELETE' });
    expect(response.status).toBe(200);
    await asked.readBytes();
  });
});
