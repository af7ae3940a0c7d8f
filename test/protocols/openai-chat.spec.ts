import {
  type HandlerFunction,
  message,
  reasoning,
  result,
  source,
  toolCall,
  toolResult,
  usage,
} from '../../src/index.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { ScriptedAgent } from '../support/scripted-agent.js';
import { post, startOpenAi } from './openai-host.js';

describeOnOneAdapter('A chat completion of OpenAI on %s', (adapter) => {
  let host: Host;
  afterEach(async () => {
    await host.idle();
    await host.close();
  });
  const ask = (messages: object[], body: object = {}) =>
    post(host.url, 'chat/completions', { messages, ...body });
  const HI = [{ role: 'user', content: 'Hi' }];
  const literal = (text: string) =>
    text.replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '<run>').replace(/"created":\d+/g, '"created":0');

  it('is written as chunks, and at once', async () => {
    host = await startOpenAi(adapter, async function* () {
      yield reasoning('Hm');
      yield toolCall('c', 'add', {});
      yield toolResult('c', 2);
      yield message('It is ');
      yield source('https://a.example/', { title: 'A' });
      yield message('2.');
      yield usage({ inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 1 });
    });
    const stream = await ask(HI, { stream: true, stream_options: { include_usage: true } });
    const named = '{"id":"chatcmpl-<run>","created":0,"model":"agent","object":"chat.completion.chunk",';
    const chunk = (delta: string, reason = 'null') =>
      `data: ${named}"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]}\n\n`;
    const cited =
      '[{"type":"url_citation","url_citation":{"url":"https://a.example/","title":"A","start_index":6,"end_index":6}}]';
    const used =
      '{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":1},' +
      '"completion_tokens_details":{"reasoning_tokens":1}}';
    expect(literal(await stream.whole())).toBe(
      chunk('{"role":"assistant","content":""}') +
        chunk('{"content":"It is "}') +
        chunk(`{"annotations":${cited}}`) +
        chunk('{"content":"2."}') +
        chunk('{}', '"stop"') +
        `data: ${named}"choices":[],"usage":${used}}\n\n` +
        'data: [DONE]\n\n',
    );
    expect(literal(await (await ask(HI)).whole())).toBe(
      '{"id":"chatcmpl-<run>","created":0,"model":"agent","object":"chat.completion","choices":[{"index":0,"message":' +
        `{"role":"assistant","content":"It is 2.","refusal":null,"annotations":${cited}},"logprobs":null,"finish_reason":"stop"}],` +
        `"usage":${used}}`,
    );
  });

  it('has the messages before as the history, and files of all messages', async () => {
    const tells: HandlerFunction = async function* ({ parts, kwargs }, { history }) {
      const said = history.map(({ text, parts }) => [parts.length, text]);
      const files = parts.flatMap((part) =>
        part.type === 'file' ? [[part.name, part.mimeType, part.file.size]] : [],
      );
      yield message(JSON.stringify([said, files, kwargs]));
    };
    host = await startOpenAi(adapter, tells);
    const base64 = Buffer.from('abc').toString('base64');
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } }],
      },
      { role: 'assistant', content: null, tool_calls: [] },
      { role: 'tool', tool_call_id: 'forged', content: 'x' },
      { role: 'assistant', content: 'An image.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And this?' },
          { type: 'input_audio', input_audio: { data: base64, format: 'wav' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: base64 } },
        ],
      },
    ];
    const tools = [
      { type: 'function', function: { name: 'f', description: 'F', parameters: { type: 'object' } } },
    ];
    const members = { model: 'm', temperature: 0, max_tokens: 9, tools, kwargs: { own: true } };
    const reply = await (
      await ask(messages, members)
    ).json<{ choices: [{ message: { content: string } }] }>();
    expect(JSON.parse(reply.choices[0].message.content)).toEqual([
      [[0, 'An image.']],
      [
        ['image.png', 'image/png', 3],
        ['audio.wav', 'audio/wav', 3],
        ['a.pdf', 'application/octet-stream', 3],
      ],
      {
        temperature: 0,
        model: 'm',
        instructions: 'Be brief.',
        max_output_tokens: 9,
        tools: [{ name: 'f', description: 'F', inputSchema: { type: 'object' } }],
        own: true,
      },
    ]);
  });

  it.each<[string, object[], string, [string, string][], string | null]>([
    [
      'calls, results and texts between them',
      [
        { role: 'user', content: 'one', name: 'ann' },
        { role: 'assistant', content: 'Let me see.', tool_calls: [] },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'x' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'It is x.' }] },
        { role: 'user', content: 'two' },
        { role: 'user', content: [{ type: 'text', text: 'three' }] },
      ],
      'two|three',
      [['one', 'Let me see.It is x.']],
      null,
    ],
    [
      'a result without an answer',
      [
        { role: 'user', content: 'one' },
        { role: 'tool', tool_call_id: 'call_1', content: 'x' },
        { role: 'user', content: 'two' },
      ],
      'two',
      [['one', '']],
      null,
    ],
    [
      'the old functions',
      [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: 'x' },
        { role: 'user', content: 'two' },
      ],
      'two',
      [['one', '']],
      null,
    ],
    [
      'refusals, and instructions anywhere',
      [
        { role: 'system', content: 'A' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'developer', content: [{ type: 'text', text: 'B' }] },
        { role: 'user', content: 'two' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }], refusal: null },
        { role: 'user', content: 'three' },
        { role: 'developer', content: 'C' },
      ],
      'three',
      [
        ['one', 'No.'],
        ['two', 'Never.'],
      ],
      'A\n\nB\n\nC',
    ],
  ])('has as its query what the user said last, after %s', async (_, messages, query, turns, told) => {
    const tells: HandlerFunction = async function* ({ parts, kwargs }, { history }) {
      const textOf = (all: object[]) => all.map((part) => (part as { text: string }).text).join('|');
      const before = history.map(({ parts: asked, text }) => [textOf(asked), text]);
      yield message(JSON.stringify([textOf(parts), before, kwargs['instructions']]));
    };
    host = await startOpenAi(adapter, tells);
    const { choices } = await (await ask(messages)).json<{ choices: [{ message: { content: string } }] }>();
    expect(JSON.parse(choices[0].message.content)).toEqual([query, turns, told]);
  });

  it('is an error if its run fails, and a structured result if the client wants one', async () => {
    const agent = new ScriptedAgent();
    host = await startOpenAi(adapter, agent.handler);
    const stream = await ask(HI, { stream: true });
    const first = await agent.call(1);
    first.emit(message('So far'));
    first.fail(new Error('secret'));
    const error = {
      message: 'The agent failed. The service has logged the cause.',
      type: 'invalid_response_error',
      param: null,
      code: 'handler_failed',
    };
    const last = (await stream.whole()).trimEnd().split('\n\n').at(-1)!;
    expect(JSON.parse(last.slice('data: '.length))).toEqual({ error });
    const direct = ask(HI);
    (await agent.call(2)).fail(new Error('secret'));
    const reply = await direct;
    expect([reply.status, reply.headers['x-should-retry']]).toEqual([400, 'false']);
    expect(await reply.json()).toEqual({ error });
    const structured = ask(HI, { response_format: { type: 'json_object' } });
    const call = await agent.call(3);
    call.emit(message('Here:'), result({ a: 1 }));
    call.finish();
    expect(await (await structured).json()).toMatchObject({ choices: [{ message: { content: '{"a":1}' } }] });
  });

  it.each([
    [{ messages: 1 }, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: HI, n: 2 }, 'n'],
    [{ messages: [{ role: 'tool', tool_call_id: 'call_1', content: '' }] }, 'messages[0].tool_call_id'],
    [{ messages: [...HI, { role: 'function', name: 'f', content: '' }] }, 'messages[1].role'],
    [{ messages: [...HI, { role: 'critic', content: '' }] }, 'messages[1].role'],
    [{ messages: [...HI, 'Hi'] }, 'messages[1]'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'http://a/' } }] }] },
      'messages[0].content[0].image_url.url',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      'messages[0].content[0].file.file_id',
    ],
  ])('refuses %j', async (body, param) => {
    host = await startOpenAi(adapter, async function* () {});
    const reply = await post(host.url, 'chat/completions', body);
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ error: { param, code: 'invalid_query' } });
  });
});
