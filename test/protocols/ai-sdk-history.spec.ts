import { MemoryRunStore, message, reasoning, toolCall, toolResult } from '../../src/index.js';
import { chunksOf, runOf, sendChat, startChats, streamOf, user } from '../support/ai-sdk-chat.js';
import { asks, REFUND } from '../support/asking.js';
import { ask, follow, get, request } from '../support/client.js';
import { eventually } from '../support/conditions.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

interface Message {
  id: string;
  role: string;
  parts: Record<string, unknown>[];
}

const textOf = ({ parts }: Message) => parts.map(({ text = '' }) => text as string).join('');

describeOnOneAdapter('The messages of a chat of the AI SDK, on %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  const start = async (
    ...more: Parameters<typeof startChats> extends [unknown, unknown, ...infer M] ? M : never
  ) => {
    agent = new ScriptedAgent();
    host = await startChats(adapter, agent.handler, ...more);
  };
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const load = async (id = 'c1', headers = {}) => {
    const reply = await get(host.url, `/ai/chat/${id}`, headers);
    expect(reply.status).toBe(200);
    return (await reply.json<{ messages: Message[] }>()).messages;
  };
  /** Sends a text, and ends its run with an answer. */
  const turn = async (text: string, ...answer: Parameters<typeof message>[0][]) => {
    const reply = await sendChat(host.url, [user(text)]);
    const call = await agent.callFor(text);
    for (const each of answer) call.emit(message(each));
    call.finish();
    await reply.whole();
    return runOf(reply);
  };

  it('are the turns, with the ids of their runs', async () => {
    await start();
    const runId = await turn('Hi', 'Hello', ' there');
    const reply = await get(host.url, '/ai/chat/c1');
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
    });
    expect((await reply.whole()).replaceAll(runId, '<run>')).toBe(
      '{"messages":[' +
        '{"id":"user_<run>","role":"user","parts":[{"type":"text","text":"Hi"}]},' +
        '{"id":"msg_<run>","role":"assistant","parts":' +
        '[{"type":"step-start"},{"type":"text","text":"Hello there","state":"done"}]}' +
        ']}',
    );
    const head = await request(host.url, { method: 'HEAD', path: '/ai/chat/c1' });
    expect([head.status, await head.whole()]).toEqual([200, '']);
  });

  it('are those of one owner: to others, and of no chat, 404', async () => {
    await start();
    await turn('Hi', 'Hello');
    for (const [id, headers] of [
      ['c1', { 'x-caller': 'eve' }],
      ['unknown', {}],
    ] as const) {
      const reply = await get(host.url, `/ai/chat/${id}`, headers);
      expect(reply.headers['content-type']).toBe('application/problem+json');
      expect(await reply.json()).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  it('are all messages of a long chat', async () => {
    await start();
    const texts = Array.from({ length: 45 }, (_, index) => `Q${index}`);
    for (const text of texts) await turn(text, `A${text}`);
    const all = await load();
    expect(all.map(textOf)).toEqual(texts.flatMap((text) => [text, `A${text}`]));
  });

  it('have whole texts, and the files of queries and answers, below the prefix of the host', async () => {
    await start({}, {}, (app) => app.setGlobalPrefix('api'));
    const long = 'ä\n'.repeat(60_000);
    const files = [
      { type: 'file', filename: 'a.txt', mediaType: 'text/plain', url: 'data:text/plain;base64,YWJj' },
    ];
    const sent = user(long, 'u1');
    sent.parts.push(...files);
    const reply = await sendChat(host.url, [sent], { path: '/api/ai/chat', id: 'a/b c' });
    const call = await agent.call(1);
    call.emit(message(long), message('End', { id: '2' }));
    call.finish();
    await reply.whole();
    const loaded = await get(host.url, `/api/ai/chat/${encodeURIComponent('a/b c')}`);
    const [query, answer] = (await loaded.json<{ messages: Message[] }>()).messages;
    expect(query!.parts[0]).toEqual({ type: 'text', text: long });
    expect(query!.parts[1]).toMatchObject({ type: 'file', mediaType: 'text/plain', filename: 'a.txt' });
    expect(answer!.parts.slice(1)).toEqual([
      { type: 'text', text: long, state: 'done' },
      { type: 'text', text: 'End', state: 'done' },
    ]);
    const url = query!.parts[1]!['url'] as string;
    expect(url).toMatch(/^\/api\/query\/[\w-]+\/files\/\w{64}$/);
    expect(await (await get(host.url, url)).whole()).toBe('abc');
  });

  it('are the same when the log of a run is no longer kept', async () => {
    await start({ store: new MemoryRunStore({ runMs: 50 }) });
    const long = 'x'.repeat(100_000);
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    call.emit(reasoning('Hm.'), toolCall('c', 'search', { a: 1 }), toolResult('c', 'y'), message(long));
    call.finish();
    await reply.whole();
    await eventually(async () => (await follow(host.url, runOf(reply))).status === 404);
    expect((await load()).at(1)!.parts).toEqual([
      { type: 'step-start' },
      { type: 'reasoning', id: 'reasoning_1', text: 'Hm.', state: 'done' },
      { type: 'tool-search', toolCallId: 'c', state: 'output-available', input: { a: 1 }, output: 'y' },
      { type: 'step-start' },
      { type: 'text', text: long, state: 'done' },
    ]);
  });

  it('end with the question of the user while a run goes on, and of runs before it with what they have said', async () => {
    await start();
    const first = await sendChat(host.url, [user('A')]);
    const call = await agent.callFor('A');
    call.emit(message('One'));
    await first.until('"One"');
    expect((await load()).map(textOf)).toEqual(['A']);
    const second = await sendChat(host.url, [user('B')]);
    expect((await load()).map(({ id }) => id.split('_')[0])).toEqual(['user', 'msg', 'user']);
    expect((await load()).map(textOf)).toEqual(['A', 'One', 'B']);
    call.finish();
    (await agent.callFor('B')).finish();
    await second.whole();
    expect((await load()).map(textOf)).toEqual(['A', 'One', 'B', '']);
  });

  it('have the conversation that a client of another protocol has sent along', async () => {
    await start();
    const earlier = [user('A'), { role: 'assistant', parts: [{ type: 'text', text: 'B' }] }];
    const reply = await sendChat(host.url, [...earlier, user('C')], {
      id: null,
      kwargs: { session_id: 'c1' },
    });
    (await agent.callFor('C')).finish();
    await reply.whole();
    const all = await load();
    expect(all.slice(0, 3).map((each) => [each.role, textOf(each)])).toEqual([
      ['user', 'A'],
      ['assistant', 'B'],
      ['user', 'C'],
    ]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(4);
  });

  it('have the open question of a run, and its stream has it too', async () => {
    await start();
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    void asks(call, [REFUND]);
    const asked = chunksOf(await reply.whole());
    expect((await load()).at(1)).toEqual({
      id: `msg_${runOf(reply)}`,
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        {
          type: 'tool-refund',
          toolCallId: 'call_9',
          state: 'approval-requested',
          input: { customer: 881, amount: 120 },
          approval: { id: 'refund-881' },
        },
      ],
    });
    const again = await streamOf(host.url, 'c1');
    expect(chunksOf(await again.whole())).toEqual(asked);
    const eve = { 'x-caller': 'eve' };
    expect((await streamOf(host.url, 'c1', undefined, eve)).status).toBe(204);
    // A run that asks is stopped as any other: edits need that.
    expect((await request(host.url, { path: '/ai/chat/c1/stop', headers: eve }, '{}')).status).toBe(204);
    expect((await streamOf(host.url, 'c1')).status).toBe(200);
    expect((await request(host.url, { path: '/ai/chat/c1/stop' }, '{}')).status).toBe(204);
    await call.stopped;
    expect((await streamOf(host.url, 'c1')).status).toBe(204);
    expect((await load()).at(1)!.parts).toMatchObject([
      { type: 'step-start' },
      {
        state: 'output-error',
        errorText: 'Not executed: the run was ended before the answer.',
      },
      { type: 'step-start' },
      { type: 'data-done', data: { status: 'cancelled' } },
    ]);
  });

  it('keep an open question where the host wants an answer: a text is refused, and says what to do', async () => {
    await start({ runs: { onAsking: 'reject' } });
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    void asks(call, [REFUND]);
    await reply.whole();
    const refused = await sendChat(host.url, [user('hello?')]);
    expect(await refused.json()).toMatchObject({
      status: 409,
      code: 'session_busy',
      detail:
        'This session waits for an answer. Answer what its run asks, or cancel the run: then send this query.',
    });
    expect((await load()).at(-1)!.parts.at(-1)).toMatchObject({ state: 'approval-requested' });
    await host.agent.cancel('anonymous', runOf(reply));
    await call.stopped;
  });

  it('are also those of a run that was submitted in another protocol', async () => {
    await start();
    const reply = await ask(host.url, 'Hi', { kwargs: { session_id: 'c1' } });
    const call = await agent.callFor('Hi');
    call.emit(message('Hello'));
    call.finish();
    await reply.whole();
    expect((await load()).map(textOf)).toEqual(['Hi', 'Hello']);
  });

  it.each(['https://example.com/x/files/' + 'a'.repeat(64), `/query/x/files/${'0'.repeat(64)}`])(
    'name files by their digest: one that the owner has not sent is refused (%s)',
    async (url) => {
      await start();
      const parts = [{ type: 'data-x' }, { type: 'file', mediaType: 'text/plain', url }];
      const reply = await sendChat(host.url, [{ id: 'u', role: 'user', parts }]);
      expect(await reply.json()).toMatchObject({
        code: 'file_missing',
        errors: [{ pointer: '/messages/0/parts/1/url' }],
      });
    },
  );
});
