import {
  file,
  log,
  message,
  progress,
  QueryError,
  reasoning,
  result,
  source,
  suggestions,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { chunksOf, runOf, sendChat, startChats, streamOf, textOf, user } from '../support/ai-sdk-chat.js';
import { request } from '../support/client.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';

const DIGEST = '277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9';

describeOnOneAdapter('A chat of the AI SDK on %s', (adapter) => {
  let agent: ScriptedAgent;
  let host: Host;
  beforeEach(async () => {
    agent = new ScriptedAgent();
    host = await startChats(adapter, agent.handler);
  });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  it('streams envelopes of every type as the chunks of one message', async () => {
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    call.emit(
      log('Begin'),
      reasoning('Let me '),
      reasoning('see.'),
      message('One "moment"'),
      progress(1, { total: 2 }),
      message(', please.\n'),
      message('Other', { id: 'm2' }),
      message(' message', { id: 'm2' }),
      toolCall('call_1', 'search', { text: 'x' }),
      toolCall('call_2', 'search', {}),
      toolResult('call_1', { hits: 1 }),
      toolResult('call_2', { code: 3 }, { isError: true }),
      toolResult('call_3', 'of no call'),
      message('Done.'),
      source('https://example.com/a', { title: 'A' }),
      file({ name: 'a.txt', mimeType: 'text/plain', content: Buffer.from('bytes') }),
      result({ sum: 1 }),
      usage({ inputTokens: 1, outputTokens: 2 }),
      suggestions([{ text: 'More' }]),
      { type: 'weather', data: [1] },
    );
    call.finish();
    const stream = await reply.whole();
    const runId = runOf(reply);
    expect(chunksOf(stream, runId)).toEqual([
      '{"type":"start","messageId":"msg_<run>"}',
      '{"type":"data-log","data":{"message":"Begin"},"transient":true}',
      '{"type":"start-step"}',
      '{"type":"reasoning-start","id":"reasoning_2"}',
      '{"type":"reasoning-delta","id":"reasoning_2","delta":"Let me "}',
      '{"type":"reasoning-delta","id":"reasoning_2","delta":"see."}',
      '{"type":"reasoning-end","id":"reasoning_2"}',
      '{"type":"text-start","id":"text_4"}',
      '{"type":"text-delta","id":"text_4","delta":"One \\"moment\\""}',
      '{"type":"data-progress","data":{"done":1,"total":2},"transient":true}',
      '{"type":"text-delta","id":"text_4","delta":", please.\\n"}',
      '{"type":"text-end","id":"text_4"}',
      '{"type":"text-start","id":"text_7"}',
      '{"type":"text-delta","id":"text_7","delta":"Other"}',
      '{"type":"text-delta","id":"text_7","delta":" message"}',
      '{"type":"text-end","id":"text_7"}',
      '{"type":"tool-input-available","toolCallId":"call_1","toolName":"search","input":{"text":"x"}}',
      '{"type":"tool-input-available","toolCallId":"call_2","toolName":"search","input":{}}',
      '{"type":"tool-output-available","toolCallId":"call_1","output":{"hits":1}}',
      '{"type":"tool-output-error","toolCallId":"call_2","errorText":"{\\"code\\":3}"}',
      '{"type":"finish-step"}',
      '{"type":"start-step"}',
      '{"type":"text-start","id":"text_14"}',
      '{"type":"text-delta","id":"text_14","delta":"Done."}',
      '{"type":"text-end","id":"text_14"}',
      '{"type":"source-url","sourceId":"source_15","url":"https://example.com/a","title":"A"}',
      `{"type":"file","url":"/query/<run>/files/${DIGEST}","mediaType":"text/plain"}`,
      '{"type":"data-result","data":{"value":{"sum":1}}}',
      '{"type":"data-usage","data":{"inputTokens":1,"outputTokens":2}}',
      '{"type":"data-suggestions","data":{"items":[{"text":"More"}]}}',
      '{"type":"data-weather","data":[1]}',
      '{"type":"finish-step"}',
      '{"type":"finish","finishReason":"stop"}',
      '[DONE]',
    ]);
    expect(stream.startsWith(`data: {"type":"start","messageId":"msg_${runId}"}\n\ndata: `)).toBe(true);
    expect(stream.endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
    expect(reply.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-vercel-ai-ui-message-stream': 'v1',
      'x-workflow-run-id': runId,
    });
  });

  const LAST = (status: string) => [
    '{"type":"start-step"}',
    `{"type":"data-done","data":{"status":"${status}"}}`,
    '{"type":"finish-step"}',
  ];
  it.each([
    ['completed', [...LAST('completed'), '{"type":"finish","finishReason":"stop"}']],
    ['failed', ['{"type":"error","errorText":"No."}', '{"type":"finish","finishReason":"error"}']],
    [
      'cancelled',
      [
        ...LAST('cancelled'),
        '{"type":"abort","reason":"cancelled"}',
        '{"type":"finish","finishReason":"other"}',
      ],
    ],
  ] as const)('says how a run has ended: %s', async (status, end) => {
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    call.emit(message('x'), toolCall('c', 'search'), toolResult('c', 1));
    await reply.until('tool-output-available');
    if (status === 'completed') call.finish();
    if (status === 'failed') call.fail(new QueryError('handler_failed', 'No.'));
    if (status === 'cancelled') {
      const path = '/ai/chat/c1/stop';
      const stale = JSON.stringify({ activeStreamId: 'another' });
      expect((await request(host.url, { path }, stale)).status).toBe(204);
      const named = JSON.stringify({ assistantMessage: { id: `msg_${runOf(reply)}` } });
      expect((await request(host.url, { path }, named)).status).toBe(204);
    }
    // A step without a call is the last one: a client that goes on by itself would do so otherwise.
    expect(chunksOf(await reply.whole(), runOf(reply)).slice(5)).toEqual([
      '{"type":"tool-input-available","toolCallId":"c","toolName":"search","input":{}}',
      '{"type":"tool-output-available","toolCallId":"c","output":1}',
      '{"type":"finish-step"}',
      ...end,
      '[DONE]',
    ]);
  });

  it('sends the run again from any of its chunks', async () => {
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    call.emit(message('ä'), message('b'), toolCall('c', 'search'), toolResult('c', '€'), message('c'));
    call.finish();
    const stream = await reply.whole();
    const events = stream.split(/(?<=\n\n)/);
    for (let cut = 0; cut < events.length; cut++) {
      const rest = await (await streamOf(host.url, runOf(reply), cut)).whole();
      expect(rest).toBe(events.slice(cut).join(''));
    }
    const last = await streamOf(host.url, runOf(reply), -2);
    expect(last.headers['x-workflow-stream-tail-index']).toBe(String(events.length - 2));
    expect(await last.whole()).toBe(events.slice(-3).join(''));
    expect((await streamOf(host.url, 'c1')).status).toBe(204);
  });

  it('sends a run that executes again from its beginning, and then live', async () => {
    const reply = await sendChat(host.url, [user('Hi')]);
    const call = await agent.callFor('Hi');
    call.emit(message('a'), message('b'));
    await reply.until('"b"');
    reply.cut();
    const again = await streamOf(host.url, 'c1');
    await again.until('"b"');
    call.emit(message('c'));
    call.finish();
    const stream = await again.whole();
    expect(textOf(stream)).toBe('abc');
    expect(await (await streamOf(host.url, runOf(reply), 0)).whole()).toBe(stream);
    expect((await streamOf(host.url, 'unknown')).status).toBe(204);
  });
});
