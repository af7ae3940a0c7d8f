import { describeOnOneAdapter, type Host } from '../support/host.js';
import { chatted, responded, tells, toldIn } from './openai-callers.js';
import { fetchAt, post, startOpenAi } from './openai-host.js';

/** Requests in the shape that programs send, in words of this test. */
describeOnOneAdapter('A client for endpoints of OpenAI on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    host = await startOpenAi(adapter, tells);
  });
  afterAll(() => host.close());

  const SYSTEM = { role: 'system', content: 'Be brief.' };
  const FUNCTION = { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} } };
  const USAGE = { stream_options: { include_usage: true } };
  it.each([
    [
      'Continue',
      {
        messages: [SYSTEM, { role: 'user', content: 'Hi' }],
        tools: [{ type: 'function', function: FUNCTION }],
        ...USAGE,
      },
      ['instructions', 'tools'],
    ],
    [
      'pi',
      {
        messages: [SYSTEM, { role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
        ...{ store: false, max_completion_tokens: 16384, tools: [], ...USAGE },
      },
      ['instructions', 'max_output_tokens'],
    ],
    [
      'aider',
      {
        messages: [SYSTEM, { role: 'user', content: 'Hi' }, SYSTEM],
        temperature: 0,
        extra_headers: {},
        timeout: null,
      },
      ['instructions', 'temperature'],
    ],
    [
      'Cline',
      {
        messages: [SYSTEM, { role: 'user', content: [{ type: 'text', text: 'Hi' }], name: 'user' }],
        ...{ temperature: 0, max_tokens: null, reasoning_effort: null, ...USAGE },
      },
      ['instructions', 'temperature'],
    ],
    [
      'Flowise',
      {
        messages: [SYSTEM, { role: 'user', content: 'Hi' }],
        ...{
          temperature: 0.9,
          top_p: 1,
          frequency_penalty: 0,
          presence_penalty: 0,
          n: 1,
          logit_bias: {},
          ...USAGE,
        },
      },
      ['instructions', 'temperature', 'top_p'],
    ],
  ])('as %s: asks in a chat, and is refused nothing', async (_, body, names) => {
    const { texts, history, kwargs } = await chatted(host.url, body);
    expect([texts, history, Object.keys(kwargs).sort()]).toEqual([['Hi'], [], names]);
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
    expect(
      (await chatted(host.url, { messages, ...members, stop: null, tools: null }, headers)).texts,
    ).toEqual(['Hi']);
    const response = { input: 'Hi', stream: true, ...members, tools: null, text: null, conversation: null };
    expect(toldIn(await responded(host.url, response, headers)).texts).toEqual(['Hi']);
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
