import { type HandlerFunction, message, usage } from '../../src/index.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { dataOf, fetchAt, post, startOpenAi } from './openai-host.js';

interface Told {
  texts: string[];
  files: [string, string, number][];
  history: string[][];
  kwargs: Record<string, unknown>;
}

/** Tells what reaches an agent. A text `run` has the client execute a command. */
const tells: HandlerFunction = async function* ({ parts, kwargs }, context) {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (texts.at(-1) === 'run') {
    const call = { name: 'exec_command', arguments: { cmd: 'ls' } };
    const [answer] = await context.ask([{ key: 'c', kind: 'tool', message: 'Execute it.', ...call }]);
    yield message(JSON.stringify(answer));
    return;
  }
  const files = parts.flatMap((part) =>
    part.type === 'file' ? [[part.name, part.mimeType, part.file.size]] : [],
  );
  const history = context.history.map((turn) => [
    ...turn.parts.map((part) => (part.type === 'text' ? part.text : part.name)),
    turn.text,
  ]);
  yield message(JSON.stringify({ texts, files, history, kwargs }));
  yield usage({ inputTokens: 3, outputTokens: 2 });
};

const PDF = `data:application/pdf;base64,${Buffer.from('%PDF-').toString('base64')}`;
const IMAGE = `data:image/png;base64,${Buffer.from('89504e47', 'hex').toString('base64')}`;

/** Requests in the shape that programs send, in words of this test. */
describeOnOneAdapter('A program for endpoints of OpenAI on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startOpenAi(adapter, tells);
  });
  afterAll(() => host.close());

  /** What the agent got of a chat, whose answer the program reads as a stream. */
  const chatted = async (body: object, headers: object = {}): Promise<Told> => {
    const reply = await post(
      host.url,
      'chat/completions',
      { model: 'agent', stream: true, ...body },
      headers,
    );
    expect(reply.status).toBe(200);
    const chunks = dataOf(await reply.whole()) as unknown as { choices: { delta: { content?: string } }[] }[];
    const texts = chunks.map(({ choices }) => choices[0]?.delta.content ?? '');
    return JSON.parse(texts.join('')) as Told;
  };

  type Event = { type: string; delta: string; response: { output: Record<string, string>[] } };
  const eventsOf = async (body: object, headers: object = {}) => {
    const reply = await post(host.url, 'responses', { model: 'agent', ...body }, headers);
    expect(reply.status).toBe(200);
    return dataOf(await reply.whole()) as unknown as Event[];
  };
  const toldIn = (events: Event[]) =>
    JSON.parse(events.map(({ type, delta }) => (type.endsWith('text.delta') ? delta : '')).join('')) as Told;

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
    const asked = (await eventsOf({ input: first, ...members }, headers)).at(-1)!;
    const [call] = asked.response.output;
    expect([asked.type, call!['type'], call!['name'], call!['arguments']]).toEqual([
      'response.completed',
      'function_call',
      'exec_command',
      '{"cmd":"ls"}',
    ]);
    const output = { type: 'function_call_output', call_id: call!['call_id'], output: 'a.txt' };
    const executed = [...first, call, output];
    const answered = (await eventsOf({ input: executed, ...members }, headers)).at(-1)!;
    const [answer] = answered.response.output as unknown as [{ content: { text: string }[] }];
    expect(JSON.parse(answer.content[0]!.text)).toMatchObject({ value: { content: 'a.txt' } });
    const second = [...executed, said('msg_4', 'assistant', 'Done.'), said('msg_5', 'user', 'Thanks')];
    const { texts, history, kwargs } = toldIn(await eventsOf({ input: second, ...members }, headers));
    expect([texts, history.at(-1)!.at(-1)]).toEqual([['Thanks'], 'Done.']);
    expect(kwargs).toEqual({
      ...{ tool_choice: 'auto', parallel_tool_calls: true, reasoning: { summary: 'auto' } },
      instructions: 'Write code.',
      tools: [{ name: 'exec_command', description: 'Executes.', inputSchema: parameters }],
    });
  });

  it('as opencode: asks for a title beside the first question, which no conversation has', async () => {
    const options = { max_tokens: 32000, stream_options: { include_usage: true } };
    const title = await chatted({
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
    const { texts, history } = await chatted({ messages, ...options, tools: [], tool_choice: 'auto' });
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
    const told = await chatted({ messages: [{ role: 'user', content }], ...members }, headers);
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
    const members = { user: '65f', n: 1, stream_options: { include_usage: true }, tools: undefined };
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
    const { texts, files, history, kwargs } = await chatted({ messages: turn, ...members });
    expect([texts, files[0]![0], history, kwargs]).toEqual([
      ['See'],
      'image.png',
      [['Hi', 'Hello']],
      { instructions: 'Be brief.' },
    ]);
    const title = [{ role: 'user', content: 'Title for:\nUser: Hi\nAI: Hello' }];
    expect((await chatted({ messages: title, ...members })).kwargs).toEqual({});
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
    const first = await eventsOf({ input, ...own, tools: [{ type: 'web_search' }], stream: true });
    const { texts, files, kwargs } = toldIn(first);
    expect([texts, files[0]![0], kwargs['instructions'], kwargs['tools']]).toEqual([
      ['What is it?'],
      'image.png',
      'Write JSON.',
      undefined,
    ]);
    const { id } = first.at(-1)!.response as unknown as { id: string };
    const again = [{ role: 'user', content: [{ type: 'input_text', text: 'And?' }] }];
    const next = toldIn(await eventsOf({ input: again, ...own, previous_response_id: id, stream: true }));
    expect(next.history.map((turn) => turn.slice(0, -1))).toEqual([['image.png', 'What is it?']]);
    const named = { input: again, ...own, conversation: 'workflow-7', stream: true };
    await eventsOf(named);
    expect(toldIn(await eventsOf(named)).kwargs['session_id']).toBe('workflow-7');
  });

  it.each([
    ['Go', { accept: 'application/json', 'user-agent': 'OpenAI/Go 3.98.0', 'x-stainless-lang': 'go' }],
    ['Java', { accept: 'application/json', 'user-agent': 'OpenAIOkHttpClientImpl/Java 4.0.0' }],
    ['C#', { accept: 'text/event-stream', 'user-agent': 'OpenAI/2.15.0 (.NET 9.0.0; Debian)' }],
    ['Rust', { accept: 'text/event-stream', 'openai-beta': 'assistants=v2' }],
    ['PHP', { accept: '*/*', 'user-agent': 'GuzzleHttp/7' }],
    ['Ruby', { 'content-type': 'application/json' }],
  ])('in %s: gets the same stream, whatever its headers are', async (_, headers) => {
    const members = {
      stream_options: { include_usage: true },
      metadata: null,
      kwargs: null,
      store: null,
      n: null,
    };
    const messages = [{ content: 'Hi', role: 'user', name: null, refusal: null, tool_calls: null }];
    expect((await chatted({ messages, ...members, stop: null, tools: null }, headers)).texts).toEqual(['Hi']);
    const response = { input: 'Hi', stream: true, ...members, tools: null, text: null, conversation: null };
    expect(toldIn(await eventsOf(response, headers)).texts).toEqual(['Hi']);
  });

  it('that demands a tool which the agent does not take is told so', async () => {
    const reply = await post(host.url, 'responses', { input: 'Hi', tool_choice: { type: 'web_search' } });
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param: 'tool_choice.type' } }]);
  });

  it.each([
    ['embeddings', { model: 'agent', input: 'Hi' }],
    ['completions', { model: 'agent', prompt: 'Hi' }],
    ['audio/speech', { model: 'agent', input: 'Hi' }],
    ['chat/completions/chat/completions', {}],
  ])('that sends %s is told what there is', async (path, body) => {
    const reply = await post(host.url, path, body);
    const message =
      'There is no such path and method: an agent has responses, conversations, chat/completions and models.';
    const error = { message, type: 'invalid_request_error', param: null, code: 'not_found' };
    expect([reply.status, await reply.json()]).toEqual([404, { error }]);
  });

  it('that looks for a model by its name is told the name of the agent', async () => {
    const reply = await fetchAt(host.url, 'models/gpt-9');
    const message = 'There is no such model: the only one is "agent".';
    expect([reply.status, await reply.json()]).toMatchObject([404, { error: { message } }]);
  });
});
