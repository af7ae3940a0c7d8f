import { message } from '../../src/index.js';
import { answerOf, Connection, eventsOf, FULL, post, runIdOf } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { ADAPTERS, type Host, startAgent } from '../support/host.js';
import { Puppet } from '../support/puppet.js';

describe.each(ADAPTERS)('A POST that is repeated with its Idempotency-Key, on %s', (adapter) => {
  let host: Host;
  let puppet: Puppet;
  beforeEach(async () => {
    puppet = new Puppet();
    host = await startAgent(adapter, puppet.handler, {
      owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'],
    });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const headers = { 'idempotency-key': '"k-1"' };
  const raw = (body: string, key = 'k-1') =>
    fetch(`${host.url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body,
    });

  it('executes once when twenty come at once, and gives all of them the same stream', async () => {
    const asked = Array.from({ length: 20 }, () => post(host.url, 'Hello', { headers }));
    const call = await puppet.call(1);
    call.emit(message('a'));
    await eventually(() => host.agent.load().followers === 20);
    call.emit(message('b'), message('é'));
    call.finish();
    const streams = await Promise.all((await Promise.all(asked)).map((response) => response.text()));
    expect(new Set(streams).size).toBe(1);
    expect(answerOf(streams[0]!)).toEqual({ text: 'abé', done: [{ status: 'completed' }] });
    expect(puppet.calls).toHaveLength(1);
  });

  it('gives the whole stream again, during the run and after it', async () => {
    const first = await Connection.post(host.url, 'Hello', { ...headers, ...FULL });
    const call = await puppet.call(1);
    call.emit(message('a'));
    await first.readUntil('"a"');
    first.cut();
    const second = post(host.url, 'Hello', { headers: { ...headers, ...FULL } });
    call.emit(message('b'));
    call.finish();
    const again = await (await second).text();
    expect(answerOf(again)).toEqual({ text: 'ab', done: [{ status: 'completed' }] });
    const third = await post(host.url, 'Hello', { headers: { ...headers, ...FULL } });
    expect(runIdOf(third)).toBe(first.runId);
    expect(await third.text()).toBe(again);
    expect(puppet.calls).toHaveLength(1);
  });

  it('goes on from a Last-Event-ID that it carries as well', async () => {
    const first = await Connection.post(host.url, 'Hello', { ...headers, ...FULL });
    const call = await puppet.call(1);
    call.emit(message('a'), message('b'));
    call.finish();
    const all = eventsOf(await first.readBytes());
    const second = await post(host.url, 'Hello', {
      headers: { ...headers, ...FULL, 'last-event-id': `${first.runId}.1` },
    });
    expect(eventsOf(await second.text())).toEqual(all.slice(1));
  });

  it('finds its run whatever the white space, the order of members, the escapes and the unknown members', async () => {
    const asked = raw('{"parts":[{"type":"text","text":"é"}],"kwargs":{"a":1,"b":{"c":[1,2],"d":null}}}');
    (await puppet.call(1)).finish();
    await (await asked).text();
    const repeated = await raw(
      ' { "x" : 1, "kwargs" : {"b":{"d":null,"c":[1, 2]},\n"a":1.0},"parts":[ {"text":"\\u00e9","type":"text","y":2} ] } ',
    );
    expect([repeated.status, await repeated.text()]).toEqual([
      200,
      'data: {"type":"done","data":{"status":"completed"}}\n\n',
    ]);
    expect(puppet.calls).toHaveLength(1);
  });

  it('is 422 with any other query, and the first goes on', async () => {
    const asked = raw('{"parts":[{"type":"text","text":"a"}],"kwargs":{"list":[1,2]}}');
    const call = await puppet.call(1);
    const others = [
      '{"parts":[{"type":"text","text":"b"}],"kwargs":{"list":[1,2]}}',
      '{"parts":[{"type":"text","text":"a"}],"kwargs":{"list":[2,1]}}',
      '{"parts":[{"type":"text","text":"a"}],"kwargs":{"list":"[1,2]"}}',
      '{"parts":[{"type":"text","text":"a"}]}',
      '{"parts":[{"type":"text","text":"a"},{"type":"text","text":""}],"kwargs":{"list":[1,2]}}',
      '{"parts":[{"type":"file","name":"a","mimeType":"text/plain","base64":"YQ=="}],"kwargs":{"list":[1,2]}}',
    ];
    for (const other of others) {
      const refused = await raw(other);
      expect(refused.status).toBe(422);
      expect(refused.headers.get('content-type')).toContain('application/problem+json');
      expect(await refused.json()).toMatchObject({ code: 'idempotency_conflict', status: 422 });
    }
    call.finish();
    expect(answerOf(await (await asked).text()).done).toEqual([{ status: 'completed' }]);
  });

  it('tells files by their content', async () => {
    const file = (base64: string) =>
      raw(`{"parts":[{"type":"file","name":"a.txt","mimeType":"text/plain","base64":"${base64}"}]}`, 'files');
    const asked = file('YQ==');
    (await puppet.call(1)).finish();
    await (await asked).text();
    expect((await file('YQ==')).status).toBe(200);
    expect((await file('Yg==')).status).toBe(422);
  });

  it('is another query when it comes from another caller', async () => {
    const asked = ['ann', 'bob'].map((caller) =>
      post(host.url, 'Hello', { headers: { ...headers, 'x-caller': caller } }),
    );
    (await puppet.call(1)).finish();
    (await puppet.call(2)).finish();
    const [one, two] = await Promise.all(asked);
    await Promise.all([one!.text(), two!.text()]);
    expect(runIdOf(one!)).not.toBe(runIdOf(two!));
  });

  it('is answered with the name of its run where it prefers that, and the run goes on by itself', async () => {
    const first = await Connection.post(host.url, 'Hello', headers);
    const call = await puppet.call(1);
    const named = await post(host.url, 'Hello', { headers: { ...headers, prefer: 'respond-async' } });
    expect(named.status).toBe(202);
    expect(named.headers.get('location')).toBe(`/query/${first.runId}`);
    expect(await named.json()).toMatchObject({ id: first.runId, status: 'running' });
    call.finish();
    await first.readBytes();
  });

  it('is 400 where the key is empty or longer than 255 characters', async () => {
    for (const key of ['""', 'x'.repeat(256)]) {
      const refused = await raw('{"parts":[{"type":"text","text":"a"}]}', key);
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([
        400,
        'invalid_query',
      ]);
    }
  });
});
