import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Chat } from '@ai-sdk/react';
import {
  type ChatInit,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  parseJsonEventStream,
  readUIMessageStream,
  simulateReadableStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
} from 'ai';
import {
  type HandlerFunction,
  isApproved,
  message,
  type Question,
  type QueryModuleOptions,
  QueryError,
  reasoning,
  toolCall,
  toolResult,
} from 'nest-agent-query';
import { openStore } from '../../../src/stores/index.js';
import { startChats, user } from '../../../test/support/ai-sdk-chat.js';
import { asks, quarter, REFUND } from '../../../test/support/asking.js';
import { eventually } from '../../../test/support/conditions.js';
import { CuttingProxy } from '../../../test/support/cutting-proxy.js';
import { describeOnOneAdapter, type Host } from '../../../test/support/host.js';
import { ScriptedAgent } from '../../../test/support/scripted-agent.js';
import { EVERY_TYPE, messageText } from './ai-sdk-messages.js';

/** More bytes than what is not a file may have. */
const LARGE = 20_000_000;

const OPEN: Question = { key: 'o', kind: 'tool', message: 'Open', toolCallId: 'call_o', name: 'open' };

describeOnOneAdapter('Clients of the AI SDK, with %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  const start = async (
    handler: QueryModuleOptions['handler'] = agent.handler,
    options: Partial<QueryModuleOptions> = {},
  ) => (host = await startChats(adapter, handler, options));
  beforeEach(() => (agent = new ScriptedAgent()));
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  const transportTo = (base: string, headers: Record<string, string> = {}) =>
    new DefaultChatTransport({ api: `${base}/ai/chat`, headers });
  const chatAt = (
    base: string,
    { headers, ...init }: Partial<ChatInit<UIMessage>> & { headers?: Record<string, string> } = {},
  ) => new Chat({ id: 'c1', transport: transportTo(base, headers), ...init });
  const stop = (chatId: string) => fetch(`${host.url}/ai/chat/${chatId}/stop`, { method: 'POST' });

  it('understand each chunk, and make a message of them', async () => {
    await start(async function* () {
      yield* EVERY_TYPE;
      yield { type: 'weather', data: null };
    });
    const body = JSON.stringify({ id: 'c1', messages: [user('Hi')] });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${host.url}/ai/chat`, { method: 'POST', headers, body });
    const parsed = parseJsonEventStream({ stream: response.body!, schema: uiMessageChunkSchema });
    const chunks: UIMessageChunk[] = [];
    for await (const chunk of parsed as unknown as AsyncIterable<{
      success: boolean;
      value: UIMessageChunk;
    }>) {
      expect(chunk).toMatchObject({ success: true });
      chunks.push(chunk.value);
    }
    const stream = simulateReadableStream({ chunks });
    let read: UIMessage | undefined;
    for await (const each of readUIMessageStream({ stream, terminateOnError: true })) read = each;
    const url = expect.stringMatching(/^\/query\/.*\/files\//) as string;
    expect(read!.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'Hm.', state: 'done' },
      { type: 'text', text: 'a', state: 'done' },
      { type: 'text', text: 'b', state: 'done' },
      {
        type: 'tool-search',
        toolCallId: 'c1',
        state: 'output-available',
        input: { x: 1 },
        output: { hits: 1 },
      },
      { type: 'tool-search', toolCallId: 'c2', state: 'output-error', input: {}, errorText: 'No' },
      { type: 'step-start' },
      { type: 'text', text: 'Done.', state: 'done' },
      { type: 'source-url', url: 'https://example.com', title: 'A' },
      { type: 'file', mediaType: 'text/plain', url },
      { type: 'data-result', data: { value: 1 } },
      { type: 'data-usage', data: { inputTokens: 1, outputTokens: 1 } },
      { type: 'data-suggestions', data: { items: [{ text: 'More' }] } },
      { type: 'data-weather', data: null },
    ]);
  });

  it('hold a conversation, edit and regenerate', async () => {
    await start(async function* ({ parts }, { history }) {
      yield message(
        `${history.length}:${parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}`,
      );
    });
    const chat = chatAt(host.url);
    const answers = () => chat.messages.filter(({ role }) => role === 'assistant').map(messageText);
    await chat.sendMessage({ text: 'A' });
    await chat.sendMessage({ text: 'B' });
    await chat.sendMessage({ text: 'C' });
    expect(answers()).toEqual(['0:A', '1:B', '2:C']);
    await chat.regenerate();
    expect(answers()).toEqual(['0:A', '1:B', '2:C']);
    await chat.regenerate({ messageId: chat.messages[3]!.id });
    expect(answers()).toEqual(['0:A', '1:B']);
    await chat.sendMessage({ text: 'B2', messageId: chat.messages[2]!.id });
    await chat.sendMessage({ text: 'C' });
    expect(answers()).toEqual(['0:A', '1:B2', '2:C']);
    await chat.sendMessage({ text: 'A2', messageId: chat.messages[0]!.id });
    expect(answers()).toEqual(['0:A2']);
    expect((await host.agent.session('anonymous', 'c1', 0, 10)).turns).toHaveLength(1);
    expect(chat.status).toBe('ready');
  });

  it('resume a message that was cut anywhere, and get it whole', async () => {
    await start();
    const proxy = await CuttingProxy.before(host.url);
    for (let cut = 200; cut < 930; cut += 90) {
      const [number, id] = [agent.calls.length + 1, `cut-${cut}`];
      const chat = new Chat({ id, transport: transportTo(proxy.url) });
      proxy.cutAfter(cut);
      const sent = chat.sendMessage({ text: 'Hi' });
      const call = await agent.call(number);
      call.emit(reasoning('ä'), toolCall('c', 'x'), toolResult('c', 'y'), message('One '), message('two ö '));
      await sent;
      expect(chat.status).toBe('error');
      call.emit(message('three'));
      const resumed = chat.resumeStream();
      await eventually(() => chat.status === 'streaming');
      call.finish();
      await resumed;
      expect(chat.messages).toMatchObject([
        { role: 'user' },
        {
          parts: [
            { type: 'step-start' },
            { type: 'reasoning', text: 'ä' },
            { type: 'tool-x', output: 'y' },
            { type: 'step-start' },
            { type: 'text', text: 'One two ö three', state: 'done' },
          ],
        },
      ]);
      expect(chat.messages).toHaveLength(2);
      // Another page finds nothing to resume.
      const other = new Chat({ id, transport: transportTo(host.url) });
      await other.resumeStream();
      expect(other).toMatchObject({ status: 'ready', messages: [] });
    }
    expect(proxy.cuts).toBe(9);
    await proxy.stop();
  });

  it('stop a run with a request of their own', async () => {
    await start();
    const chat = chatAt(host.url);
    const sent = chat.sendMessage({ text: 'Hi' });
    const call = await agent.callFor('Hi');
    call.emit(message('One'));
    await eventually(() => chat.messages.length === 2 && messageText(chat.messages[1]!) === 'One');
    await chat.stop();
    expect((await stop('c1')).status).toBe(204);
    await call.stopped;
    await sent;
    await chat.resumeStream();
    expect(chat.status).toBe('ready');
    const again = chat.regenerate();
    (await agent.call(2)).finish();
    await again;
    expect(chat.messages).toHaveLength(2);
  });

  it('show refusals and failures as errors', async () => {
    await start(agent.handler, { runs: { maxRunning: 1, maxWaiting: 0 } });
    const [first, second] = [chatAt(host.url), new Chat({ id: 'c2', transport: transportTo(host.url) })];
    const sent = first.sendMessage({ text: 'Hi' });
    const call = await agent.callFor('Hi');
    await second.sendMessage({ text: 'Hi' });
    expect(JSON.parse(second.error!.message)).toMatchObject({ status: 503, code: 'at_capacity' });
    call.emit(message('x'));
    call.fail(new QueryError('handler_failed', 'The model is busy.'));
    await sent;
    expect(first).toMatchObject({ status: 'error', error: { message: 'The model is busy.' } });
    expect(first.messages).toHaveLength(2);
  });

  it('are of different owners: the chat of one is not that of the other', async () => {
    await start();
    const ann = chatAt(host.url, { headers: { 'x-caller': 'ann' } });
    const sent = ann.sendMessage({ text: 'Hi' });
    const call = await agent.callFor('Hi');
    const eve = chatAt(host.url, { headers: { 'x-caller': 'eve' } });
    await eve.resumeStream();
    expect(eve).toMatchObject({ status: 'ready', messages: [] });
    call.emit(message('x'));
    call.finish();
    await sent;
    eve.messages = ann.messages;
    await eve.regenerate({ messageId: eve.messages[1]!.id });
    expect(JSON.parse(eve.error!.message)).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('answer an approval, a form and a call of their own, and send each answer once', async () => {
    await start();
    let requests = 0;
    const transport = new DefaultChatTransport({
      api: `${host.url}/ai/chat`,
      fetch: (...request) => (requests++, fetch(...request)),
    });
    const chat = chatAt(host.url, {
      transport,
      sendAutomaticallyWhen: (all) =>
        lastAssistantMessageIsCompleteWithApprovalResponses(all) ||
        lastAssistantMessageIsCompleteWithToolCalls(all),
      onToolCall: ({ toolCall: { toolCallId, toolName } }) => {
        if (toolName === 'open')
          void chat.addToolOutput({ tool: 'open', toolCallId, output: { opened: true } });
      },
    });
    const sent = chat.sendMessage({ text: 'Hi' });
    const call = await agent.callFor('Hi');
    call.emit(message('Wait.'), toolCall('call_8', 'see'), toolResult('call_8', 1));
    call.emit(toolCall('call_9', 'refund', REFUND.arguments));
    await eventually(() => chat.messages.at(-1)!.parts.some(({ type }) => type === 'tool-refund'));
    const approved = asks(call, [REFUND]);
    await sent;
    void chat.addToolApprovalResponse({ id: 'refund-881', approved: true, reason: 'Yes' });
    expect(await approved).toMatchObject([{ value: { approved: true, reason: 'Yes' } }]);
    call.emit(toolResult('call_9', 'paid'));
    const filled = asks(call, [quarter()]);
    await eventually(
      () =>
        chat.status === 'ready' &&
        chat.messages.at(-1)!.parts.some(({ type }) => type === 'tool-request_user_input'),
    );
    void chat.addToolOutput({ tool: 'request_user_input', toolCallId: 'quarter', output: 'Q1' });
    expect(await filled).toMatchObject([{ value: 'Q1' }]);
    expect(await asks(call, [OPEN])).toMatchObject([{ value: { content: { opened: true } } }]);
    call.emit(toolResult('call_o', { opened: true }), message('Done.'));
    call.finish();
    await eventually(() => chat.status === 'ready' && messageText(chat.messages.at(-1)!) === 'Wait.Done.');
    expect(chat.messages).toHaveLength(2);
    expect(chat.messages[1]!.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'Wait.' },
      { type: 'tool-see', output: 1 },
      { type: 'step-start' },
      { type: 'tool-refund', state: 'output-available', output: 'paid' },
      { type: 'step-start' },
      { type: 'tool-request_user_input', state: 'output-available', output: 'Q1' },
      { type: 'step-start' },
      { type: 'tool-open', state: 'output-available', output: { opened: true } },
      { type: 'step-start' },
      { type: 'text', text: 'Done.' },
    ]);
    expect(requests).toBe(4);
  });

  it.each(['paid', undefined])(
    'send nothing more when a run ends with a call (its result: %s)',
    async (output) => {
      await start(async function* (_, context) {
        yield toolCall('call_9', 'refund');
        await context.ask([REFUND]);
        if (output !== undefined) yield toolResult('call_9', output);
      });
      let requests = 0;
      const chat = chatAt(host.url, {
        transport: new DefaultChatTransport({
          api: `${host.url}/ai/chat`,
          fetch: (...request) => (requests++, fetch(...request)),
        }),
        sendAutomaticallyWhen: (all) =>
          lastAssistantMessageIsCompleteWithApprovalResponses(all) ||
          lastAssistantMessageIsCompleteWithToolCalls(all),
      });
      await chat.sendMessage({ text: 'Hi' });
      await chat.addToolApprovalResponse({ id: 'refund-881', approved: true });
      await host.idle();
      await eventually(() => chat.status === 'ready');
      expect(requests).toBe(2);
      expect(chat.error).toBeUndefined();
    },
  );

  it('answer after a restart of the service', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'chats-'));
    const handler: HandlerFunction = async function* (_, context) {
      if (!context.resumed) yield toolCall('call_9', 'refund', REFUND.arguments);
      const [answer] = await context.ask([REFUND], { checkpoint: 1 });
      yield toolResult('call_9', isApproved(answer) ? 'paid' : 'not paid');
      yield message('Done.');
    };
    const open = async () => start(handler, { store: await openStore(`file:${join(directory, 'runs.db')}`) });
    await open();
    const before = chatAt(host.url);
    await before.sendMessage({ text: 'Hi' });
    await host.close();
    await open();
    const after = chatAt(host.url, {
      messages: before.messages,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await after.addToolApprovalResponse({ id: 'refund-881', approved: true });
    await eventually(() => after.messages.at(-1)!.parts.some(({ type }) => type === 'text'));
    await host.idle();
    expect(after.messages.at(-1)!.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'tool-refund', state: 'output-available', output: 'paid' },
      { type: 'step-start' },
      { type: 'text', text: 'Done.' },
    ]);
    await rm(directory, { recursive: true });
  });

  it('send a large file, which the service has on disk', async () => {
    await start();
    const content = Buffer.alloc(LARGE, 'ab\u00e9');
    const url = `data:application/octet-stream;base64,${content.toString('base64')}`;
    const chat = chatAt(host.url);
    const part = { type: 'file', mediaType: 'application/octet-stream', filename: 'a.bin', url } as const;
    const sent = chat.sendMessage({ text: 'Sum', files: [part] });
    const call = await agent.callFor('Sum');
    expect(host.agent.spoolUse()).toEqual({ files: 1, bytes: content.length });
    const [received] = call.query.parts;
    expect(received).toMatchObject({ type: 'file', name: 'a.bin', file: { size: content.length } });
    call.finish();
    await sent;
  });
});
