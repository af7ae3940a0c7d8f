import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { answerOf, ask, FULL, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

describeOnOneAdapter('A POST that is repeated with its Idempotency-Key, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, {
      owner: (request: { headers: Record<string, string> }) => request.headers['x-caller'],
    });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const headers = { 'idempotency-key': '"k-1"' };
  const raw = (body: string, key = 'k-1') => request(host.url, { headers: { 'idempotency-key': key } }, body);

  it(promise('idempotency.same-key', 'for twenty requests at once'), async () => {
    const asked = Array.from({ length: 20 }, () => ask(host.url, 'Hello', { headers }));
    const call = await agent.call(1);
    call.emit(message('a'));
    await eventually(() => host.agent.load().followers === 20);
    call.emit(message('b'), message('é'));
    call.finish();
    const streams = await Promise.all((await Promise.all(asked)).map((response) => response.whole()));
    expect(new Set(streams).size).toBe(1);
    expect(answerOf(streams[0]!)).toEqual({ text: 'abé', done: [{ status: 'completed' }] });
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('idempotency.same-key', 'during the run and after it'), async () => {
    const first = await ask(host.url, 'Hello', { headers: { ...headers, ...FULL } });
    const call = await agent.call(1);
    call.emit(message('a'));
    await first.until('"a"');
    first.cut();
    const second = ask(host.url, 'Hello', { headers: { ...headers, ...FULL } });
    call.emit(message('b'));
    call.finish();
    const again = await (await second).whole();
    expect(answerOf(again)).toEqual({ text: 'ab', done: [{ status: 'completed' }] });
    const third = await ask(host.url, 'Hello', { headers: { ...headers, ...FULL } });
    expect(third.runId).toBe(first.runId);
    expect(await third.whole()).toBe(again);
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('idempotency.from-cursor'), async () => {
    const first = await ask(host.url, 'Hello', { headers: { ...headers, ...FULL } });
    const call = await agent.call(1);
    call.emit(message('a'), message('b'));
    call.finish();
    const all = await first.allEvents();
    const second = await ask(host.url, 'Hello', {
      headers: { ...headers, ...FULL, 'last-event-id': `${first.runId}.1` },
    });
    expect(await second.allEvents()).toEqual(all.slice(1));
  });

  it(promise('idempotency.same-query'), async () => {
    const asked = raw('{"parts":[{"type":"text","text":"é"}],"kwargs":{"a":1,"b":{"c":[1,2],"d":null}}}');
    (await agent.call(1)).finish();
    await (await asked).whole();
    const repeated = await raw(
      ' { "x" : 1, "kwargs" : {"b":{"d":null,"c":[1, 2]},\n"a":1.0},"parts":[ {"text":"\\u00e9","type":"text","y":2} ] } ',
    );
    expect([repeated.status, await repeated.whole()]).toEqual([
      200,
      'data: {"type":"done","data":{"status":"completed"}}\n\n',
    ]);
    expect(agent.calls).toHaveLength(1);
  });

  it(promise('idempotency.other-query', 'and the first run continues'), async () => {
    const asked = raw('{"parts":[{"type":"text","text":"a"}],"kwargs":{"list":[1,2]}}');
    const call = await agent.call(1);
    const others = [
      '{"parts":[{"type":"text","text":"b"}],"kwargs":{"list":[1,2]}}',
      '{"parts":[{"type":"text","text":"a"}],"kwargs":{"list":[2,1]}}',
      '{"parts":[{"type":"text","text":"a"}],"kwargs":{"list":"[1,2]"}}',
      '{"parts":[{"type":"text","text":"a"}]}',
      '{"parts":[{"type":"text","text":"a"}],"kwargs":{"list":[1,2]},"metadata":{"a":"b"}}',
      '{"parts":[{"type":"text","text":"a"},{"type":"text","text":""}],"kwargs":{"list":[1,2]}}',
      '{"parts":[{"type":"file","name":"a","mimeType":"text/plain","base64":"YQ=="}],"kwargs":{"list":[1,2]}}',
    ];
    for (const other of others) {
      const refused = await raw(other);
      expect(refused.status).toBe(422);
      expect(refused.headers['content-type']).toBe('application/problem+json');
      expect(await refused.json()).toMatchObject({ code: 'idempotency_conflict', status: 422 });
    }
    call.finish();
    expect((await (await asked).answer()).done).toEqual([{ status: 'completed' }]);
  });

  it(promise('idempotency.other-query', 'also where only the content of a file differs'), async () => {
    const file = (base64: string) =>
      raw(`{"parts":[{"type":"file","name":"a.txt","mimeType":"text/plain","base64":"${base64}"}]}`, 'files');
    const asked = file('YQ==');
    (await agent.call(1)).finish();
    await (await asked).whole();
    expect((await file('YQ==')).status).toBe(200);
    expect((await file('Yg==')).status).toBe(422);
  });

  it(promise('idempotency.owner'), async () => {
    const asked = ['ann', 'bob'].map((caller) =>
      ask(host.url, 'Hello', { headers: { ...headers, 'x-caller': caller } }),
    );
    (await agent.call(1)).finish();
    (await agent.call(2)).finish();
    const [one, two] = await Promise.all(asked);
    await Promise.all([one!.whole(), two!.whole()]);
    expect(one!.runId).not.toBe(two!.runId);
  });

  it(promise('run.respond-async', 'also for a used Idempotency-Key'), async () => {
    const first = await ask(host.url, 'Hello', { headers });
    const call = await agent.call(1);
    const named = await ask(host.url, 'Hello', { headers: { ...headers, prefer: 'respond-async' } });
    expect(named.status).toBe(202);
    expect(named.headers['location']).toBe(`/query/${first.runId}`);
    expect(await named.json()).toMatchObject({ id: first.runId, status: 'running' });
    call.finish();
    await first.whole();
  });

  it(promise('idempotency.invalid-key'), async () => {
    for (const key of ['""', 'x'.repeat(256)]) {
      const refused = await raw('{"parts":[{"type":"text","text":"a"}]}', key);
      expect([refused.status, (await refused.json<{ code: string }>()).code]).toEqual([400, 'invalid_query']);
    }
  });

  it.each(['Idempotency-Key', 'Last-Event-ID'])(
    promise('idempotency.repeated-header', '%s'),
    async (name) => {
      const headers = { [name]: ['a', 'b'] };
      const refused = await request(host.url, { headers }, '{"parts":[{"type":"text","text":"a"}]}');
      expect([refused.status, await refused.json()]).toEqual([
        400,
        expect.objectContaining({
          code: 'invalid_query',
          detail: `The request has the header ${name} more than once. Send it once.`,
        }),
      ]);
    },
  );
});
