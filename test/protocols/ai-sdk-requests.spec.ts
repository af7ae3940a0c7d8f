import { type HandlerFunction, message, type Turn } from '../../src/index.js';
import {
  assistant,
  type ChatOptions,
  chunksOf,
  runOf,
  sendChat,
  startChats,
  streamOf,
  textOf,
  type UiMessage,
  user,
} from '../support/ai-sdk-chat.js';
import { get, request } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const told = ({ parts, text }: Turn) =>
  `${parts.map((part) => (part.type === 'text' ? part.text : part.name)).join('+')}=${text}`;

describeOnOneAdapter('What a client of the AI SDK sends, on %s', (adapter) => {
  let host: Host;
  let count = 0;
  /** Numbers its answers, and tells what it knows of the conversation. */
  const recalls: HandlerFunction = async function* (_, { history }) {
    yield message([...history.map(told), `${++count}`].join(' '));
  };
  beforeEach(() => (count = 0));
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const answerTo = async (messages: UiMessage[], options?: ChatOptions) => {
    const reply = await sendChat(host.url, messages, options);
    return { text: textOf(await reply.whole()), runId: runOf(reply), status: reply.status };
  };
  const conversation = async () => {
    const [first, second] = [await answerTo([user('A')]), await answerTo([user('B')])];
    return [user('A'), assistant(first.runId), user('B'), assistant(second.runId)] as const;
  };

  it('is a turn of the session that the chat names; earlier messages do not count', async () => {
    host = await startChats(adapter, recalls);
    expect((await answerTo([user('A')])).text).toBe('1');
    const forged = [user('X'), assistant('unknown', { type: 'text', text: 'Y' }), user('B')];
    expect((await answerTo(forged)).text).toBe('A=1 2');
  });

  it('has its history with it, if the client names no chat', async () => {
    host = await startChats(adapter, recalls);
    const text = { type: 'text', text: 'Y' };
    const messages = [user('X'), assistant('a', { type: 'reasoning', text: 'Z' }, text, text), user('B')];
    expect((await answerTo(messages, { id: null })).text).toBe('X=YY 1');
    const regenerated = { id: null, trigger: 'regenerate-message' };
    expect((await answerTo(messages, regenerated)).text).toBe('X=YY 2');
    expect((await answerTo(messages, regenerated)).text).toBe('X=YY 3');
  });

  it('may regenerate any message, also one that was regenerated before', async () => {
    host = await startChats(adapter, recalls);
    const [a, first, b, second] = await conversation();
    const regenerate = (messages: UiMessage[], messageId?: string) =>
      answerTo(messages, { trigger: 'regenerate-message', messageId });
    expect((await regenerate([a, first, b], second.id)).text).toBe('A=1 3');
    expect((await regenerate([a, first, b])).text).toBe('A=1 4');
    expect((await regenerate([a, first, b])).text).toBe('A=1 5');
    expect((await regenerate([a], first.id)).text).toBe('6');
    expect((await regenerate([a])).text).toBe('7');
    expect((await regenerate([{ role: 'assistant', id: 'welcome', parts: [] }, a])).text).toBe('8');
    // Of the messages that the client has, the chat has no turn any more.
    for (const [messages, named, pointer] of [
      [[a, first, b], undefined, '/messages/1/id'],
      [[b], second.id, '/messageId'],
    ] as const) {
      const options = { trigger: 'regenerate-message', messageId: named };
      const reply = await sendChat(host.url, [...messages], options);
      expect(await reply.json()).toMatchObject({
        status: 400,
        detail: `"${pointer}" names no turn of the chat any more: load the chat again.`,
      });
    }
  });

  it('may edit any message of the user, and replaces the turns from there on', async () => {
    host = await startChats(adapter, recalls);
    const [a, first, b] = await conversation();
    const edited = { ...user('B2'), id: b.id! };
    expect((await answerTo([a, first, edited], { messageId: b.id })).text).toBe('A=1 3');
    expect((await answerTo([a, first, edited], { messageId: b.id })).text).toBe('A=1 4');
    expect((await answerTo([user('C')])).text).toBe('A=1 B2=A=1 4 5');
    expect((await answerTo([{ ...user('A2'), id: a.id! }], { messageId: a.id })).text).toBe('6');
  });

  it('is executed once, however often the same request is sent', async () => {
    const agent = new ScriptedAgent();
    host = await startChats(adapter, agent.handler);
    const first = await answered(agent, () => sendChat(host.url, [user('A')]), 1);
    const again = await sendChat(host.url, [user('A')]);
    expect(await again.whole()).toBe(first);
    for (const [number, options] of [
      { trigger: 'regenerate-message' },
      { messageId: user('A').id! },
      { messageId: user('A').id! },
    ].entries()) {
      const regenerate = () => sendChat(host.url, [user('A')], options);
      const repeated = await regenerate();
      const stream = await answered(agent, regenerate, number + 2);
      expect(await repeated.whole()).toBe(stream);
    }
    expect(agent.calls).toHaveLength(4);
  });

  it('may replace nothing while a run of the chat executes', async () => {
    const agent = new ScriptedAgent();
    host = await startChats(adapter, agent.handler);
    const reply = await sendChat(host.url, [user('A')]);
    await agent.call(1);
    const regenerated = await sendChat(host.url, [user('A')], { trigger: 'regenerate-message' });
    expect(await regenerated.json()).toMatchObject({ status: 409, code: 'session_busy' });
    expect(await stop(host.url)).toBe(204);
    expect(chunksOf(await reply.whole()).slice(-3)).toContain('{"type":"abort","reason":"cancelled"}');
    await answered(agent, () => sendChat(host.url, [user('A')], { trigger: 'regenerate-message' }), 2);
  });

  it('has kwargs for the handler, unchanged', async () => {
    const agent = new ScriptedAgent();
    host = await startChats(adapter, agent.handler);
    const kwargs = { session_id: 'other', n: [1, { x: null }] };
    await answered(agent, () => sendChat(host.url, [user('A')], { kwargs }), 1);
    expect(agent.calls[0]!.query.kwargs).toEqual({ n: [1, { x: null }], session_id: 'c1' });
  });

  it('belongs to its owner: nobody else can read, stop or go on with the chat', async () => {
    const agent = new ScriptedAgent();
    host = await startChats(adapter, agent.handler);
    const reply = await sendChat(host.url, [user('A')], { headers: { 'x-caller': 'ann' } });
    const call = await agent.call(1);
    const eve = { 'x-caller': 'eve' };
    expect((await streamOf(host.url, 'c1', undefined, eve)).status).toBe(204);
    expect((await streamOf(host.url, runOf(reply), 0, eve)).status).toBe(204);
    expect(await stop(host.url, eve)).toBe(204);
    const regenerated = { trigger: 'regenerate-message', messageId: `msg_${runOf(reply)}`, headers: eve };
    const refused = await sendChat(host.url, [user('A')], regenerated);
    expect(await refused.json()).toMatchObject({ status: 404, code: 'not_found' });
    call.emit(message('x'));
    call.finish();
    expect(textOf(await reply.whole())).toBe('x');
  });

  it.each([
    ['an array', [], '', 'must be an object'],
    ['no messages', { id: 'c' }, '/messages', 'must be an array of at least one message'],
    ['no message', { messages: [] }, '/messages', 'must be an array of at least one message'],
    [
      'a trigger',
      { messages: [user('A')], trigger: 'x' },
      '/trigger',
      'must be one of "submit-message" and "regenerate-message"',
    ],
    ['a chat id', { id: 1, messages: [user('A')] }, '/id', 'must be a string'],
    ['a role', { messages: [{ parts: [] }] }, '/messages/0/role', 'must be a string'],
    ['parts', { messages: [{ role: 'user' }] }, '/messages/0/parts', 'must be an array of parts'],
    ['a part', { messages: [{ role: 'user', parts: [1] }] }, '/messages/0/parts/0', 'must be an object'],
    [
      'nothing to answer',
      { messages: [{ role: 'user', parts: [{ type: 'data-x' }] }] },
      '/messages/0/parts',
      'must contain at least one part',
    ],
    [
      'the message of an agent',
      { messages: [{ role: 'system', parts: [] }] },
      '/messages/0/role',
      'must be "user": the last message is the one that is answered',
    ],
    [
      'a text',
      { messages: [{ role: 'user', parts: [{ type: 'text', text: 1 }] }] },
      '/messages/0/parts/0/text',
      'must be a string',
    ],
    ['kwargs', { messages: [user('A')], kwargs: [] }, '/kwargs', 'must be an object'],
    ...(<[object, string, string][]>[
      [
        { url: 'https://example.com/a.png' },
        'url',
        'must be a data: URL with base64, or the URL of a file of this chat',
      ],
      [
        { url: 'data:text/plain;base64,YQ' },
        'url',
        'ends inside a group of 4 characters: it was cut off, or its padding ("=") is missing (at offset 2)',
      ],
      [
        { url: 'data:text/plain;base64,YQ==', filename: '../x' },
        'filename',
        'must not contain "/" or "\\": it is a label, not a path',
      ],
      [
        { url: 'data:text/plain;base64,YQ==', mediaType: 'x' },
        'mediaType',
        'must be a media type such as "text/csv", at most 255 characters long',
      ],
    ]).map(([part, member, detail]): [string, unknown, string, string] => {
      const parts = [{ type: 'data-x' }, { type: 'file', ...part }];
      const body = { messages: [user('X'), { role: 'user', parts }] };
      return [`the ${member} of a file`, body, `/messages/1/parts/1/${member}`, detail];
    }),
  ] as [string, unknown, string, string][])(
    'is refused with its place, if %s is wrong',
    async (_, body, pointer, detail) => {
      host = await startChats(adapter, recalls);
      const reply = await request(host.url, { path: '/ai/chat' }, JSON.stringify(body));
      expect(reply.headers['content-type']).toBe('application/problem+json');
      expect(await reply.json()).toMatchObject({
        status: 400,
        code: 'invalid_query',
        errors: [{ pointer, detail }],
      });
    },
  );

  it('is refused, if the index of a chunk is no number', async () => {
    host = await startChats(adapter, recalls);
    const reply = await get(host.url, '/ai/chat/c1/stream?startIndex=x');
    expect(await reply.json()).toMatchObject({
      status: 400,
      detail: 'The parameter "startIndex" must be a whole number.',
    });
  });
});

describeOnOneAdapter('Files of a chat of the AI SDK on %s', (adapter) => {
  it('come as data URLs, and go as URLs of the service, with the prefix of the host', async () => {
    const agent = new ScriptedAgent();
    const host = await startChats(adapter, agent.handler, {}, { path: '/views/ai/' }, (app) =>
      app.setGlobalPrefix('api'),
    );
    const parts = [
      { type: 'file', mediaType: 'text/csv', filename: 'a.csv', url: 'data:text/plain;base64,YSxi' },
      { type: 'text', text: 'Sum' },
      { type: 'file', url: 'data:image/png;base64,AA==' },
    ];
    const reply = await sendChat(host.url, [{ role: 'user', parts }], { path: '/api/views/ai/chat' });
    const call = await agent.callFor('Sum');
    const [csv, , png] = call.query.parts;
    expect(call.query.parts).toMatchObject([
      { type: 'file', name: 'a.csv', mimeType: 'text/csv' },
      { type: 'text', text: 'Sum' },
      { type: 'file', name: 'file', mimeType: 'image/png' },
    ]);
    expect(csv?.type === 'file' && (await csv.file.text())).toBe('a,b');
    expect(png?.type === 'file' && png.file.size).toBe(1);
    call.emit({
      type: 'file',
      data: { name: 'b.txt', mimeType: 'text/plain', content: Buffer.from('bytes') },
    });
    call.finish();
    const chunk = chunksOf(await reply.whole()).find((data) => data.startsWith('{"type":"file"'))!;
    const { url } = JSON.parse(chunk) as { url: string };
    expect(url.startsWith(`/api/query/${runOf(reply)}/files/`)).toBe(true);
    expect(await (await get(host.url, url)).whole()).toBe('bytes');
    await host.idle();
    await host.close();
  });
});

/** Sends a chat, lets the handler answer with the number of its call, and returns the stream. */
async function answered(
  agent: ScriptedAgent,
  send: () => ReturnType<typeof sendChat>,
  number: number,
): Promise<string> {
  const reply = await send();
  const call = await agent.call(number);
  call.emit(message(String(number)));
  call.finish();
  return reply.whole();
}

/** Stops the chat without a body. */
async function stop(base: string, headers: Record<string, string> = {}): Promise<number> {
  return (await fetch(`${base}/ai/chat/c1/stop`, { method: 'POST', headers })).status;
}
