import { type HandlerFunction, message, QueryError } from '../../src/index.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { type Json, lastOf, post, respond, startOpenAi, typesOf } from './openai-host.js';

/** A model that has what a request says to it. */
const model: HandlerFunction = async function* ({ parts, kwargs }, context) {
  if (kwargs['tools']) {
    const tool = { kind: 'tool', message: 'Call it.', name: 'get_weather' } as const;
    await context.ask([{ ...tool, key: 'w', arguments: { location: 'San Francisco, CA' } }]);
  }
  const earlier = context.history.map((turn) => {
    const [asked] = turn.parts;
    if (asked?.type !== 'text') throw new QueryError('invalid_query', 'A text was expected.');
    return `${asked.text} ${turn.text}`;
  });
  const own = parts.map((part) => (part.type === 'text' ? part.text : `${part.mimeType} ${part.file.size}`));
  yield message([(kwargs['instructions'] as string | undefined) ?? '', ...earlier, ...own].join('|'));
};

const user = (content: unknown) => ({ type: 'message', role: 'user', content });
const TOOLS = [
  {
    type: 'function',
    name: 'get_weather',
    parameters: { type: 'object', properties: { location: { type: 'string' } } },
  },
];

/** The cases of the compliance suite of Open Responses. */
describeOnOneAdapter('The cases of Open Responses on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startOpenAi(adapter, model);
  });
  afterAll(() => host.close());
  const textOf = ({ output }: Json) => (output[0]!['content'] as { text: string }[])[0]!.text;

  /** Which members a response has, and of which types: those of the schema of Open Responses. */
  const checkShape = (response: Json) => {
    const integer = expect.any(Number) as number;
    expect(response).toMatchObject({
      object: 'response',
      created_at: integer,
      completed_at: null,
      incomplete_details: null,
      model: 'agent',
      previous_response_id: null,
      instructions: null,
      error: null,
      tools: [],
      tool_choice: 'auto',
      truncation: 'disabled',
      parallel_tool_calls: true,
      text: { format: { type: 'text' } },
      top_p: integer,
      presence_penalty: integer,
      frequency_penalty: integer,
      top_logprobs: integer,
      temperature: integer,
      reasoning: null,
      usage: null,
      max_output_tokens: null,
      max_tool_calls: null,
      store: true,
      background: false,
      service_tier: 'default',
      metadata: {},
      safety_identifier: null,
      prompt_cache_key: null,
    });
    expect(response['status']).toBe('completed');
    expect(response.output.length).toBeGreaterThan(0);
  };

  it('basic response', async () => {
    const response = await respond(host.url, [user('Say hello in exactly 3 words.')], { model: 'agent' });
    checkShape(response);
    expect(textOf(response)).toBe('|Say hello in exactly 3 words.');
  });

  it('streaming response', async () => {
    const reply = await post(host.url, 'responses', { input: [user('Count from 1 to 5.')], stream: true });
    const stream = await reply.whole();
    checkShape(lastOf(stream));
    expect(typesOf(stream)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  it('system prompt', async () => {
    const system = { type: 'message', role: 'system', content: 'You are a pirate.' };
    const response = await respond(host.url, [system, user('Say hello.')], { instructions: 'Be brief.' });
    checkShape(response);
    expect(textOf(response)).toBe('Be brief.\n\nYou are a pirate.|Say hello.');
  });

  it('tool calling', async () => {
    const response = await respond(host.url, [user('What is the weather?')], { tools: TOOLS });
    checkShape(response);
    expect(response.output).toMatchObject([
      { type: 'function_call', name: 'get_weather', arguments: '{"location":"San Francisco, CA"}' },
    ]);
  });

  it('tool calling, streaming', async () => {
    const input = [user('What is the weather?')];
    const stream = await (await post(host.url, 'responses', { input, tools: TOOLS, stream: true })).whole();
    checkShape(lastOf(stream));
    expect(typesOf(stream)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  it('image input', async () => {
    const image = { type: 'input_image', image_url: `data:image/png;base64,${PNG.toString('base64')}` };
    const response = await respond(host.url, [user([{ type: 'input_text', text: 'What is it?' }, image])]);
    checkShape(response);
    expect(textOf(response)).toBe(`|What is it?|image/png ${PNG.length}`);
  });

  it('multi-turn', async () => {
    const assistant = { type: 'message', role: 'assistant', content: 'Hello Alice!' };
    const input = [user('My name is Alice.'), assistant, user('What is my name?')];
    const response = await respond(host.url, input);
    checkShape(response);
    expect(textOf(response)).toBe('|My name is Alice. Hello Alice!|What is my name?');
  });
});

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
