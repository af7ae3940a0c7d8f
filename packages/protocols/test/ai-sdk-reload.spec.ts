import { Chat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
  validateUIMessages,
} from 'ai';
import { message, type QueryModuleOptions, QueryError, toolCall, toolResult } from 'nest-agent-query';
import { startChats } from '../../../test/support/ai-sdk-chat.js';
import { asks, quarter, REFUND } from '../../../test/support/asking.js';
import { eventually } from '../../../test/support/conditions.js';
import { describeOnOneAdapter, type Host } from '../../../test/support/host.js';
import { ScriptedAgent } from '../../../test/support/scripted-agent.js';
import { EVERY_TYPE, messageText } from './ai-sdk-messages.js';

/** Messages as they are kept: without members that are undefined, and without the ids that clients choose. */
const kept = (messages: UIMessage[]) =>
  (JSON.parse(JSON.stringify(messages)) as UIMessage[]).map(({ id, ...rest }) =>
    rest.role === 'user' ? rest : { id, ...rest },
  );

describeOnOneAdapter('A page with useChat that is loaded again, with %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  const start = async (
    handler: QueryModuleOptions['handler'] = agent.handler,
    options: Partial<QueryModuleOptions> = {},
    version: 6 | 7 = 6,
  ) => (host = await startChats(adapter, handler, options, { aiSdk: { version } }));
  beforeEach(() => (agent = new ScriptedAgent()));
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const load = async (id = 'c1') => {
    const response = await fetch(`${host.url}/ai/chat/${id}`);
    expect(response.status).toBe(200);
    const { messages } = (await response.json()) as { messages: UIMessage[] };
    return messages;
  };
  const chatWith = (messages: UIMessage[] = [], id = 'c1') =>
    new Chat({
      id,
      messages,
      transport: new DefaultChatTransport({ api: `${host.url}/ai/chat` }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
  /** What a page does first: it loads the messages, shows them, and resumes the stream. */
  const reload = async (id = 'c1') => {
    const chat = chatWith(await load(id), id);
    const resumed = chat.resumeStream();
    return { chat, resumed };
  };

  it('has the same messages as before', async () => {
    await start(async function* ({ parts }) {
      const [part] = parts;
      if (part?.type === 'text' && part.text === 'Nothing') return;
      yield* EVERY_TYPE;
      yield { type: 'weather', data: { sky: 'blue' } };
      yield toolCall('c3', 'search');
    });
    const before = chatWith();
    await before.sendMessage({ text: 'One' });
    await before.sendMessage({ text: 'Two' });
    const messages = await load();
    expect(kept(messages)).toEqual(kept(before.messages));
    await validateUIMessages({ messages });
    const { chat, resumed } = await reload();
    await resumed;
    expect(chat).toMatchObject({ status: 'ready', messages });
    // A message must have a part.
    await chat.sendMessage({ text: 'Nothing' });
    const all = await load();
    expect(all.at(-1)!.parts).toEqual([
      { type: 'step-start' },
      { type: 'data-done', data: { status: 'completed' } },
    ]);
    await validateUIMessages({ messages: all });
  });

  it('goes on in the middle of an answer', async () => {
    await start();
    const before = chatWith();
    const sent = before.sendMessage({ text: 'Hi' });
    const call = await agent.callFor('Hi');
    call.emit(message('One '));
    await eventually(() => before.messages.length === 2);
    expect(await load()).toMatchObject([{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }]);
    const { chat, resumed } = await reload();
    await eventually(() => chat.messages.length === 2 && messageText(chat.messages[1]!) === 'One ');
    call.emit(message('two.'));
    call.finish();
    await Promise.all([sent, resumed]);
    expect(kept(chat.messages)).toEqual(kept(before.messages));
    expect(kept(await load())).toEqual(kept(before.messages));
  });

  it('has the answer too if it ends between the messages and the stream', async () => {
    await start();
    const before = chatWith();
    const sent = before.sendMessage({ text: 'Hi' });
    const call = await agent.callFor('Hi');
    const messages = await load();
    call.emit(message('Done.'));
    call.finish();
    await sent;
    const transport = new DefaultChatTransport<UIMessage>({
      api: `${host.url}/ai/chat`,
      prepareReconnectToStreamRequest: ({ api, id }) => ({
        api: `${api}/${id}/stream?after=${messages.at(-1)!.id}`,
      }),
    });
    const chat = new Chat({ id: 'c1', messages, transport });
    await chat.resumeStream();
    expect(chat.status).toBe('ready');
    expect(kept(chat.messages)).toEqual(kept(before.messages));
    // Later answers of the chat are not those to this message.
    const again = before.sendMessage({ text: 'Again' });
    (await agent.callFor('Again')).finish();
    await again;
    const late = await fetch(`${host.url}/ai/chat/c1/stream?after=${messages.at(-1)!.id}`);
    expect(late.status).toBe(204);
  });

  it.each(['with the stream', 'without the stream'])(
    'shows the question of a run that asks again, and the answer lets it go on: %s',
    async (how) => {
      await start();
      const before = chatWith();
      const sent = before.sendMessage({ text: 'Hi' });
      const call = await agent.callFor('Hi');
      call.emit(message('Wait.'), toolCall('call_9', 'refund', REFUND.arguments));
      await eventually(() => before.messages[1]?.parts.length === 3);
      const approved = asks(call, [REFUND]);
      await sent;
      const { chat, resumed } =
        how === 'with the stream' ? await reload() : { chat: chatWith(await load()), resumed: undefined };
      await resumed;
      expect(chat.status).toBe('ready');
      expect(kept(chat.messages)).toEqual(kept(before.messages));
      expect(chat.messages[1]!.parts).toMatchObject([
        { type: 'step-start' },
        { type: 'text', text: 'Wait.' },
        { type: 'tool-refund', state: 'approval-requested', approval: { id: 'refund-881' } },
      ]);
      await validateUIMessages({ messages: chat.messages });
      void chat.addToolApprovalResponse({ id: 'refund-881', approved: true });
      expect(await approved).toMatchObject([{ value: { approved: true } }]);
      // A page that is loaded while the call executes does not ask again.
      const third = await reload();
      await eventually(() => third.chat.messages.length === 2);
      await eventually(() => third.chat.messages[1]!.parts.length === 3);
      expect(third.chat.messages[1]!.parts[2]).toMatchObject({ state: 'input-available' });
      call.emit(toolResult('call_9', 'paid'), message('Done.'));
      call.finish();
      await third.resumed;
      await eventually(() => chat.status === 'ready' && messageText(chat.messages[1]!) === 'Wait.Done.');
      for (const messages of [chat.messages, third.chat.messages, await load()]) {
        expect(messages).toHaveLength(2);
        expect(messages[1]!.parts).toMatchObject([
          { type: 'step-start' },
          { type: 'text', text: 'Wait.' },
          { type: 'tool-refund', state: 'output-available', output: 'paid' },
          { type: 'step-start' },
          { type: 'text', text: 'Done.' },
        ]);
      }
      await validateUIMessages({ messages: await load() });
    },
  );

  it('shows a form again', async () => {
    await start();
    const sent = chatWith().sendMessage({ text: 'Hi' });
    const call = await agent.callFor('Hi');
    const filled = asks(call, [quarter()]);
    await sent;
    const { chat, resumed } = await reload();
    await resumed;
    expect(chat.messages[1]!.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'tool-request_user_input', state: 'input-available', toolCallId: 'quarter' },
    ]);
    await chat.addToolOutput({ tool: 'request_user_input', toolCallId: 'quarter', output: 'Q1' });
    const answering = chat.sendMessage();
    expect(await filled).toMatchObject([{ value: 'Q1' }]);
    call.finish();
    await answering;
    expect((await load())[1]!.parts[1]).toMatchObject({ state: 'output-available', output: 'Q1' });
  });

  it('says of a text beside an open question that this was withdrawn, and refuses an answer to it', async () => {
    await start();
    const old = chatWith();
    const sent = old.sendMessage({ text: 'Refund' });
    const call = await agent.callFor('Refund');
    call.emit(toolCall('call_9', 'refund', REFUND.arguments));
    await eventually(() => old.messages[1]?.parts.length === 2);
    void asks(call, [REFUND]);
    await sent;
    const { chat, resumed } = await reload();
    await resumed;
    const typed = chat.sendMessage({ text: 'hello?' });
    const second = await agent.callFor('hello?');
    expect(JSON.stringify(second.context.history)).toContain(
      'Not executed: the user has sent another message instead of an answer.',
    );
    second.emit(message('Hello.'));
    second.finish();
    await typed;
    expect(chat.status).toBe('ready');
    expect(await load()).toMatchObject([
      { role: 'user' },
      {
        parts: [
          { type: 'step-start' },
          {
            type: 'tool-refund',
            state: 'output-error',
            errorText: 'Not executed: the user has sent another message instead of an answer.',
          },
          { type: 'step-start' },
          { type: 'data-done', data: { status: 'cancelled' } },
        ],
      },
      { role: 'user' },
      { parts: [{ type: 'step-start' }, { type: 'text', text: 'Hello.' }] },
    ]);
    for (const page of [old, chat]) {
      await page.addToolApprovalResponse({ id: 'refund-881', approved: true });
      if (page === chat) await page.sendMessage(undefined, {});
      await eventually(() => page.status === 'error');
      expect(JSON.parse(page.error!.message)).toMatchObject({
        status: 409,
        code: 'run_ended',
        detail:
          'A newer message was sent instead of an answer, so the question was withdrawn. The run has ended, and needs no answer any more.',
      });
    }
  });

  it('edits and regenerates what it has loaded, also a message with a file', async () => {
    await start(async function* ({ parts }, { history }) {
      const said = parts.map((part) =>
        part.type === 'text' ? part.text : `${part.name} ${part.mimeType} ${part.file.size}`,
      );
      yield message(`${history.length}:${said.join('+')}`);
    });
    const before = chatWith();
    const url = `data:text/plain;base64,${Buffer.from('abc').toString('base64')}`;
    const files = [{ type: 'file' as const, filename: 'a.txt', mediaType: 'text/plain', url }];
    await before.sendMessage({ text: 'A', files });
    await before.sendMessage({ text: 'B' });
    await before.sendMessage({ text: 'C' });
    const chat = chatWith(await load());
    expect(chat.messages[0]!.parts).toMatchObject([
      { type: 'file', filename: 'a.txt', mediaType: 'text/plain' },
      { type: 'text', text: 'A' },
    ]);
    const [part] = chat.messages[0]!.parts as { url: string }[];
    expect(await (await fetch(new URL(part!.url, host.url))).text()).toBe('abc');
    const answers = () => chat.messages.filter(({ role }) => role === 'assistant').map(messageText);
    await chat.regenerate();
    expect(answers()).toEqual(['0:a.txt text/plain 3+A', '1:B', '2:C']);
    await chat.sendMessage({ text: 'B2', messageId: chat.messages[2]!.id });
    expect(answers()).toEqual(['0:a.txt text/plain 3+A', '1:B2']);
    await chat.regenerate({ messageId: chat.messages[1]!.id });
    expect([chat.status, answers()]).toEqual(['ready', ['0:a.txt text/plain 3+A']]);
    const again = chatWith(await load());
    await again.sendMessage({ text: 'A2', messageId: again.messages[0]!.id });
    await again.sendMessage({ text: 'A3', messageId: again.messages[0]!.id });
    expect(again.status).toBe('ready');
    expect((await load()).map(messageText)).toEqual(['A3', '0:A3']);
  });

  it('shows how turns have ended', async () => {
    await start();
    const chat = chatWith();
    const sent = chat.sendMessage({ text: 'fails' });
    const call = await agent.callFor('fails');
    call.emit(message('x'));
    call.fail(new QueryError('handler_failed', 'The model is busy.'));
    await sent;
    const sentToo = chat.sendMessage({ text: 'stops' });
    await agent.callFor('stops');
    await fetch(`${host.url}/ai/chat/c1/stop`, { method: 'POST' });
    await sentToo;
    const messages = await load();
    expect(messages.map(({ parts }) => parts)).toEqual([
      [{ type: 'text', text: 'fails' }],
      [
        { type: 'step-start' },
        { type: 'text', text: 'x', state: 'done' },
        { type: 'step-start' },
        {
          type: 'data-done',
          data: { status: 'failed', error: { code: 'handler_failed', message: 'The model is busy.' } },
        },
      ],
      [{ type: 'text', text: 'stops' }],
      [{ type: 'step-start' }, { type: 'data-done', data: { status: 'cancelled' } }],
    ]);
    await validateUIMessages({ messages });
  });
});
