import { describeOnOneAdapter, type Host } from '../support/host.js';
import { chatted, responded, tells, toldIn } from './openai-callers.js';
import { fetchAt, post, startOpenAi } from './openai-host.js';

const PDF = `data:application/pdf;base64,${Buffer.from('%PDF-').toString('base64')}`;
const IMAGE = `data:image/png;base64,${Buffer.from('89504e47', 'hex').toString('base64')}`;

/** Requests in the shape that programs send, in words of this test. */
describeOnOneAdapter('A program for endpoints of OpenAI on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startOpenAi(adapter, tells);
  });
  afterAll(() => host.close());

  it('as Codex: offers tools of its own, of others and of OpenAI, executes a call, and sends the conversation again', async () => {
    const said = (id: string, role: string, text: string) => ({
      ...{ type: 'message', id, role },
      content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
    });
    const first = [
      said('msg_1', 'developer', 'Write code.'),
      said('msg_2', 'user', '<environment/>'),
      said('msg_3', 'user', 'run'),
    ];
    const parameters = { type: 'object', properties: { cmd: { type: 'string' } } };
    const members = {
      tools: [
        { type: 'function', name: 'exec_command', description: 'Executes.', strict: false, parameters },
        { type: 'namespace', name: 'agents', description: 'Others.', tools: [] },
        {
          type: 'custom',
          name: 'apply_patch',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
        },
        { type: 'web_search', external_web_access: false },
      ],
      ...{
        tool_choice: 'auto',
        parallel_tool_calls: true,
        reasoning: { summary: 'auto' },
        store: false,
        stream: true,
      },
      ...{
        include: ['reasoning.encrypted_content'],
        prompt_cache_key: 'thread',
        client_metadata: { thread_id: 't' },
      },
    };
    const headers = {
      accept: 'text/event-stream',
      originator: 'codex_exec',
      'session-id': 't',
      'thread-id': 't',
    };
    const asked = (await responded(host.url, { input: first, ...members }, headers)).at(-1)!;
    const [call] = asked.response.output;
    expect([asked.type, call!['type'], call!['name'], call!['arguments']]).toEqual([
      'response.completed',
      'function_call',
      'exec_command',
      '{"cmd":"ls"}',
    ]);
    const output = { type: 'function_call_output', call_id: call!['call_id'], output: 'a.txt' };
    const executed = [...first, call, output];
    const answered = (await responded(host.url, { input: executed, ...members }, headers)).at(-1)!;
    const [answer] = answered.response.output as unknown as [{ content: { text: string }[] }];
    expect(JSON.parse(answer.content[0]!.text)).toMatchObject({ value: { content: 'a.txt' } });
    const second = [...executed, said('msg_4', 'assistant', 'Done.'), said('msg_5', 'user', 'Thanks')];
    const { texts, history, kwargs } = toldIn(
      await responded(host.url, { input: second, ...members }, headers),
    );
    expect([texts, history.at(-1)!.at(-1)]).toEqual([['Thanks'], 'Done.']);
    expect(kwargs).toEqual({
      ...{ tool_choice: 'auto', parallel_tool_calls: true, reasoning: { summary: 'auto' } },
      instructions: 'Write code.',
      tools: [{ name: 'exec_command', description: 'Executes.', inputSchema: parameters }],
    });
  });

  it('as opencode: asks for a title beside the first question, which no conversation has', async () => {
    const options = { max_tokens: 32000, stream_options: { include_usage: true } };
    const title = await chatted(host.url, {
      messages: [
        { role: 'system', content: 'You write titles.' },
        { role: 'user', content: 'Write a title:\n' },
        { role: 'user', content: '"Hi"' },
      ],
      ...options,
    });
    expect(title).toEqual({
      texts: ['Write a title:\n', '"Hi"'],
      files: [],
      history: [],
      kwargs: { instructions: 'You write titles.', max_output_tokens: 32000 },
    });
    const messages = [
      { role: 'system', content: 'You write code.' },
      { role: 'user', content: '"Hi"' },
      { role: 'assistant', content: 'Hello' },
      { role: 'user', content: 'Go on' },
    ];
    const { texts, history } = await chatted(host.url, {
      messages,
      ...options,
      tools: [],
      tool_choice: 'auto',
    });
    expect([texts, history]).toEqual([['Go on'], [['"Hi"', 'Hello']]]);
  });

  it('as Open WebUI: lists the models, sends images as data, and asks for titles and tags without a stream', async () => {
    const models = await (await fetchAt(host.url, 'models', { authorization: 'Bearer key' })).json<object>();
    const agent = { id: 'agent', object: 'model', created: 0, owned_by: 'nest-agent-query' };
    expect(models).toEqual({ object: 'list', data: [agent] });
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: IMAGE } },
      { type: 'file', file: { filename: 'a.pdf', file_data: PDF }, cache_control: { type: 'ephemeral' } },
    ];
    const members = {
      ...{ stop: ['END'], temperature: 0.8, top_p: 0.9, frequency_penalty: 0, presence_penalty: 0, seed: 1 },
      ...{
        max_tokens: 128,
        logit_bias: {},
        stream_options: { include_usage: true },
        keep_alive: '5m',
        num_ctx: 2048,
      },
      user: { name: 'Ada', id: 'u', email: 'ada@a.example', role: 'user' },
    };
    const headers = { 'x-openwebui-user-id': 'u', 'x-openwebui-chat-id': 'c' };
    const told = await chatted(host.url, { messages: [{ role: 'user', content }], ...members }, headers);
    expect(told).toEqual({
      texts: ['What is it?'],
      files: [
        ['image.png', 'image/png', 4],
        ['a.pdf', 'application/pdf', 5],
      ],
      history: [],
      kwargs: { stop: ['END'], temperature: 0.8, top_p: 0.9, seed: 1, max_output_tokens: 128 },
    });
    const task = { model: 'agent', messages: [{ role: 'user', content: '### Task: tags' }], stream: false };
    const reply = await post(host.url, 'chat/completions', { ...task, max_completion_tokens: 1000 });
    expect(await reply.json()).toMatchObject({ object: 'chat.completion', usage: { total_tokens: 5 } });
  });

  it('as LibreChat: names its user, and writes a title from what was said', async () => {
    const members = { user: '65f', frequency_penalty: 0, stream_options: { include_usage: true } };
    const turn = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: IMAGE, detail: 'auto' } },
        ],
      },
    ];
    const { texts, files, history, kwargs } = await chatted(host.url, { messages: turn, ...members });
    expect([texts, files[0]![0], history, kwargs]).toEqual([
      ['See'],
      'image.png',
      [['Hi', 'Hello']],
      { instructions: 'Be brief.' },
    ]);
    const title = { model: 'agent', stream: false, messages: [{ role: 'user', content: 'A title for: Hi' }] };
    const reply = await (
      await post(host.url, 'chat/completions', title)
    ).json<{ choices: [{ message: object }] }>();
    const told = { texts: ['A title for: Hi'], files: [], history: [], kwargs: {} };
    expect(reply.choices[0].message).toMatchObject({ role: 'assistant', content: JSON.stringify(told) });
  });

  it('as n8n: leaves out what is empty, and continues a response or a conversation that it has named', async () => {
    const input = [
      { role: 'system', content: [{ type: 'input_text', text: 'Write JSON.' }] },
      {
        role: 'user',
        content: [{ type: 'input_image', detail: 'auto', image_url: IMAGE }],
      },
      { role: 'user', content: [{ type: 'input_text', text: 'What is it?' }] },
    ];
    const own = { parallel_tool_calls: true, store: true, background: false, text: { verbosity: 'medium' } };
    const first = await responded(host.url, { input, ...own, tools: [{ type: 'web_search' }], stream: true });
    const { texts, files, kwargs } = toldIn(first);
    expect([texts, files[0]![0], kwargs['instructions'], kwargs['tools']]).toEqual([
      ['What is it?'],
      'image.png',
      'Write JSON.',
      undefined,
    ]);
    const { id } = first.at(-1)!.response as unknown as { id: string };
    const again = [{ role: 'user', content: [{ type: 'input_text', text: 'And?' }] }];
    const next = toldIn(
      await responded(host.url, { input: again, ...own, previous_response_id: id, stream: true }),
    );
    expect(next.history.map((turn) => turn.slice(0, -1))).toEqual([['image.png', 'What is it?']]);
    const named = { input: again, ...own, conversation: 'workflow-7', stream: true };
    await responded(host.url, named);
    expect(toldIn(await responded(host.url, named)).kwargs['session_id']).toBe('workflow-7');
  });
});
