import type { OutgoingHttpHeaders } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { UnauthorizedException } from '@nestjs/common';
import { message } from '../../src/index.js';
import { promise } from '../promises.js';
import { ask, cancel, FULL, type Reply, request, type RequestOptions } from '../support/client.js';
import { describeOnOneAdapter, type Host, startAgent } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

describeOnOneAdapter('A caller whom the host does not know, on %s', (adapter) => {
  it(promise('owner.isolation', 'is refused before anything of the request is validated'), async () => {
    const host = await startAgent(adapter, new ScriptedAgent().handler, {
      owner: async () => {
        await nextTurn();
        throw new UnauthorizedException();
      },
    });
    const requests: RequestOptions[] = [
      { method: 'GET', path: '/query?limit=0' },
      { method: 'GET', path: '/query/sessions?after=x' },
      { method: 'GET', path: '/query/sessions/s?limit=x' },
      { method: 'POST', headers: { 'content-type': 'text/plain' } },
      { method: 'POST', headers: { 'last-event-id': 'x' } },
    ];
    for (const asked of requests) expect((await request(host.url, asked)).status).toBe(401);
    await host.close();
  });
});

describeOnOneAdapter('The option `owner`, on %s', (adapter) => {
  it.each([
    ['returns', () => 'ann', 200],
    ['resolves', async () => 'ann', 200],
    ['throws', refuse, 401],
    ['rejects', async () => refuse(), 401],
  ])(promise('owner.isolation', 'is asked once for a query when it %s'), async (_, owner, status) => {
    const agent = new ScriptedAgent();
    let asked = 0;
    const host = await startAgent(adapter, agent.handler, {
      owner: () => {
        asked++;
        return owner();
      },
    });
    const reply = ask(host.url, 'Hello');
    if (status === 200) (await agent.call(1)).finish();
    expect((await reply).status).toBe(status);
    expect(asked).toBe(1);
    await host.idle();
    await host.close();
  });
});

function refuse(): never {
  throw new UnauthorizedException();
}

describeOnOneAdapter('A host that names no owner, on %s', (adapter) => {
  it.each([
    ['undefined', () => undefined],
    ['null', () => null],
    ['a promise of undefined', async () => undefined],
    ['a promise of null', async () => null],
  ])(promise('owner.anonymous', 'the option `owner` returns %s'), async (_, owner) => {
    const agent = new ScriptedAgent();
    const host = await startAgent(adapter, agent.handler, { owner: owner as () => undefined });
    const asked = await ask(host.url, 'Hello');
    const call = await agent.call(1);
    expect(call.context.owner).toBe('anonymous');
    call.finish();
    await asked.whole();
    await host.idle();
    await host.close();
  });
});

describeOnOneAdapter('What belongs to one caller, on %s', (adapter) => {
  let host: Host;
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startAgent(adapter, agent.handler, {
      owner: async (request: { headers: Record<string, string> }) => request.headers['x-caller'],
    });
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  it(promise('owner.isolation'), async () => {
    const asked = await ask(host.url, 'Hello', {
      headers: { 'x-caller': 'ann' },
      kwargs: { session_id: 's' },
      metadata: { team: 'sales', project: 'x' },
    });
    const call = await agent.call(1);
    expect(call.context.owner).toBe('ann');
    const unknown = '00000000-0000-4000-8000-000000000000';
    const ways = (caller: OutgoingHttpHeaders, runId: string, session: string) => {
      const run = `/query/${runId}`;
      const sessionPath = `/query/sessions/${session}`;
      const send = (method: string, path: string, headers: OutgoingHttpHeaders = {}) =>
        request(host.url, { method, path, headers: { ...caller, ...headers } });
      return [
        send('GET', run),
        send('GET', run, FULL),
        send('GET', run, { ...FULL, 'last-event-id': `${runId}.0` }),
        send('DELETE', run),
        send('DELETE', `${run}?erase`),
        send('GET', `${run}/inputs`),
        send('GET', `${run}/deliveries`),
        send('POST', `${run}/deliveries/msg_1`),
        request(
          host.url,
          { path: `${run}/inputs`, headers: caller },
          JSON.stringify({ answers: [{ id: 'a', outcome: 'declined' }] }),
        ),
        ask(host.url, 'a', { headers: { ...caller, 'last-event-id': `${runId}.0` } }),
        send('GET', sessionPath),
        send('DELETE', sessionPath),
        request(
          host.url,
          { path: `${sessionPath}/fork`, headers: caller },
          JSON.stringify({ afterTurn: 0, session_id: 'mine' }),
        ),
      ];
    };
    const read = (replies: Promise<Reply>[]) =>
      Promise.all(
        replies.map(async (asked) => {
          const reply = await asked;
          return [reply.status, { ...reply.headers, date: undefined }, await reply.whole()];
        }),
      );
    const missing = await read(ways({ 'x-caller': 'bob' }, unknown, 'unknown'));
    expect(missing.map(([status]) => status)).toEqual(Array(13).fill(404));
    expect(await read(ways({ 'x-caller': 'bob' }, asked.runId, 's'))).toEqual(missing);
    expect(await read(ways({}, asked.runId, 's'))).toEqual(missing);

    for (const filter of ['metadata.team=sales', 'metadata.team=sales&metadata.project=x']) {
      const listed = async (caller: OutgoingHttpHeaders) =>
        (await request(host.url, { method: 'GET', path: `/query?${filter}`, headers: caller })).whole();
      expect(await listed({ 'x-caller': 'ann' })).toContain(asked.runId);
      expect(await listed({ 'x-caller': 'bob' })).toBe('{"runs":[],"next":null}');
      expect(await listed({})).toBe('{"runs":[],"next":null}');
    }

    expect(call.context.signal.aborted).toBe(false);
    call.emit(message('for ann'));
    call.finish();
    expect(await asked.answer()).toEqual({
      text: 'for ann',
      done: [{ status: 'completed' }],
    });
  });

  it(promise('owner.anonymous'), async () => {
    const asked = await ask(host.url, 'Hello');
    const call = await agent.call(1);
    expect(call.context.owner).toBe('anonymous');
    const response = await cancel(host.url, asked.runId);
    expect(response.status).toBe(200);
    await asked.whole();
  });
});
