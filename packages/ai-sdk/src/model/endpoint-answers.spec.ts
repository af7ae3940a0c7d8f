import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type Envelope, QueryError } from 'nest-agent-query';
import { contextOf, queryOf } from 'nest-agent-query/testing';
import { RemoteServer, stream } from '../../../../test/support/remote-service.js';
import { type ModelHandler, modelHandler } from './index.js';

const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (choice: object, more: object = {}) => event({ choices: [{ index: 0, ...choice }], ...more });
const says = (content: string) => chunk({ delta: { content } });
const ends = (reason: string) => chunk({ delta: {}, finish_reason: reason });
const DONE = 'data: [DONE]\n\n';
const ANSWER = says('Hi') + ends('stop') + DONE;
const USAGE = { prompt_tokens: 3, completion_tokens: 1 };
const COUNTED = { inputTokens: 3, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 };

const call = (more: object = {}, args: unknown = '{}') =>
  chunk({
    delta: { tool_calls: [{ index: 0, id: 'call_0', function: { name: 'gone', arguments: args }, ...more }] },
  }) +
  ends('tool_calls') +
  DONE;

describe('The agent model, with an endpoint that answers as real ones do', () => {
  let endpoint: RemoteServer;
  let handler: ModelHandler;
  let warnings: jest.SpiedFunction<Logger['warn']>;

  beforeEach(async () => {
    endpoint = await RemoteServer.start();
    handler = modelHandler({ baseUrl: endpoint.url, model: 'm', retries: 0, apiKey: 'sk-1' });
    warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    await handler.onApplicationShutdown();
    await endpoint.stop();
    jest.restoreAllMocks();
  });

  async function outcome(options: Parameters<typeof contextOf>[0] = {}) {
    const envelopes: Envelope[] = [];
    const context = await contextOf(options);
    try {
      const answer = (await handler.handle(await queryOf('Hello'), context)) as AsyncIterable<Envelope>;
      for await (const envelope of answer) envelopes.push(envelope);
      return { envelopes, context, error: undefined };
    } catch (error) {
      return { envelopes, context, error: error as QueryError };
    }
  }

  const asked = (index: number) =>
    (JSON.parse(endpoint.calls[index]!.body) as { messages: Message[] }).messages;
  const text = (envelopes: Envelope[]) =>
    envelopes
      .map(({ type, data }) => (type === 'message' ? (data as { content: string }).content : ''))
      .join('');

  it.each([
    ['only usage', event({ id: 'a', usage: USAGE })],
    ['no choices', event({ choices: null, usage: USAGE })],
    ['null', event(null) + event({ choices: [], usage: USAGE })],
    ['an empty object', event({}) + event({ choices: [], usage: USAGE })],
    ['a word', `data: ping\n\n${event({ choices: [], usage: USAGE })}`],
    ['half of a JSON', `data: {"choices"\n\n${event({ choices: [], usage: USAGE })}`],
  ])('completes where %s comes after the finish reason, with the usage', async (_, extra) => {
    endpoint.answers(stream(says('Hi') + ends('stop') + extra + DONE));
    const { envelopes, error } = await outcome();
    expect(error).toBeUndefined();
    expect(envelopes).toEqual([
      { type: 'message', data: { content: 'Hi' } },
      { type: 'usage', data: { ...COUNTED, model: 'm' } },
    ]);
  });

  it('leaves out what says nothing before the answer, and logs it once', async () => {
    endpoint.answers(stream(`data: ping sk-1\n\n${event({})}${ANSWER}`));
    const { envelopes, error } = await outcome();
    expect([text(envelopes), error]).toEqual(['Hi', undefined]);
    expect(warnings.mock.calls).toEqual([
      ['The endpoint of the model sent an event that says nothing: ping ***'],
    ]);
  });

  it('leaves out no damaged piece of the answer', async () => {
    endpoint.answers(stream(`${says('one ')}data: {"choices":[{"delta":{"con\n\n${ANSWER}`));
    expect((await outcome()).error).toMatchObject({ code: 'handler_failed' });
  });

  it.each<[string, object, object]>([
    ['a text', { content: 'Hi' }, { type: 'message', data: { content: 'Hi' } }],
    [
      'a call',
      { tool_calls: [{ id: 'a', function: { name: 'gone', arguments: '{"x":1}' } }] },
      { type: 'tool_call', data: { id: 'a', name: 'gone', arguments: { x: 1 } } },
    ],
  ])('takes %s of a whole chat completion in the place of a stream', async (_, message, expected) => {
    const whole = {
      object: 'chat.completion',
      model: 'big',
      choices: [{ message, finish_reason: 'stop' }],
      usage: USAGE,
    };
    endpoint.answers(stream(JSON.stringify(whole, null, 2)), stream(ANSWER));
    const { envelopes, error } = await outcome();
    expect(error).toBeUndefined();
    expect(envelopes).toContainEqual(expected);
    expect(envelopes).toContainEqual({
      type: 'usage',
      data: { ...COUNTED, model: 'big' },
    });
  });

  it.each([
    [{ error: { message: 'Rate limit reached', code: 'rate_limit' } }, 'rate_limited'],
    [{ error: 'The server is overloaded' }, 'unavailable'],
    [{ detail: 'sk-1 is wrong' }, 'handler_failed'],
  ])('fails as the error that has the status 200: %j', async (body, code) => {
    endpoint.answers(stream(JSON.stringify(body)));
    const { error } = await outcome();
    expect(error).toBeInstanceOf(QueryError);
    expect(error!.code).toBe(code);
    expect(String((error!.cause as Error).message ?? '')).not.toContain('sk-1');
  });

  it('has the beginning of a page in the log', async () => {
    endpoint.answers(stream('<html>Log in</html>'));
    const { error } = await outcome();
    expect(error).toMatchObject({ code: 'handler_failed' });
    expect((error!.cause as Error).message).toContain('<html>Log in</html>');
  });

  it.each([
    ['of a later chunk', { model: 'gpt-x' }, 'gpt-x'],
    ['that is configured', { model: '' }, 'm'],
  ])('has the model %s in the usage where the first chunk has none', async (_, more, model) => {
    const first = event({ model: '', choices: [], prompt_filter_results: [] });
    const last = event({ choices: [], usage: USAGE, ...more });
    endpoint.answers(stream(first + chunk({ delta: { content: 'Hi' } }, more) + ends('stop') + last + DONE));
    expect((await outcome()).envelopes.at(-1)).toMatchObject({ type: 'usage', data: { model } });
  });

  it("sends Gemini's thought signature again, also from a checkpoint in another process", async () => {
    const extra = { extra_content: { google: { thought_signature: 'c2ln' } } };
    endpoint.answers(stream(call(extra)), stream(ANSWER));
    const { context } = await outcome();
    expect(asked(1)[1]).toMatchObject({ role: 'assistant', tool_calls: [{ id: 'call_0', ...extra }] });
    const state: unknown = JSON.parse(JSON.stringify(context.checkpoints[0]));
    await outcome({ resumed: { attempt: 2, state } });
    expect(asked(2)[1]).toMatchObject({ role: 'assistant', tool_calls: [{ id: 'call_0', ...extra }] });
  });

  it('sends the reasoning of earlier turns again where it has led to calls', async () => {
    endpoint.answers(stream(ANSWER));
    const answer = [
      { type: 'reasoning', data: { content: 'I need ' } },
      { type: 'reasoning', data: { content: 'a tool.' } },
      { type: 'tool_call', data: { id: 'a', name: 't', arguments: {} } },
      { type: 'tool_result', data: { id: 'a', content: 'r' } },
      { type: 'reasoning', data: { content: 'Good.' } },
      { type: 'message', data: { content: 'Done.' } },
    ];
    await outcome({ turns: [{ question: 'Go', answer }] });
    const said = asked(0).filter(({ role }) => role === 'assistant');
    expect(said[0]).toMatchObject({ reasoning_content: 'I need a tool.', tool_calls: [{ id: 'a' }] });
    expect(said[1]).toEqual({ role: 'assistant', content: 'Done.' });
  });

  it('gives calls other ids where the conversation has had theirs, and the same ones after a restart', async () => {
    endpoint.answers(stream(call()), stream(call()), stream(ANSWER));
    const answer = [
      { type: 'tool_call', data: { id: 'call_0', name: 't', arguments: {} } },
      { type: 'tool_result', data: { id: 'call_0', content: 'r' } },
      { type: 'message', data: { content: 'Done.' } },
    ];
    const turns = [{ question: 'Go', answer }];
    const { envelopes, context } = await outcome({ turns });
    const idsOf = (type: string) =>
      envelopes.filter((each) => each.type === type).map(({ data }) => (data as { id: string }).id);
    const ids = idsOf('tool_call');
    expect(new Set(['call_0', ...ids]).size).toBe(3);
    expect(idsOf('tool_result')).toEqual(ids);
    const sent = () =>
      asked(endpoint.calls.length - 1).flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
    expect(sent()).toEqual(['call_0', ...ids]);

    endpoint.answers(stream(call()), stream(ANSWER));
    const state: unknown = JSON.parse(JSON.stringify(context.checkpoints[0]));
    await outcome({ turns, resumed: { attempt: 2, state } });
    expect(new Set(sent()).size).toBe(3);
  });

  it('takes arguments that are an object', async () => {
    endpoint.answers(stream(call({}, { x: 1 })), stream(ANSWER));
    expect((await outcome()).envelopes[0]).toMatchObject({
      type: 'tool_call',
      data: { arguments: { x: 1 } },
    });
  });

  it.each(['abort', 'error'])('is interrupted where the finish reason is %s', async (reason) => {
    endpoint.answers(stream(says('Hi') + ends(reason) + DONE));
    expect((await outcome()).error).toMatchObject({ code: 'interrupted' });
  });

  it('says that a filter has refused the text', async () => {
    const error = { message: 'The response was filtered', code: 'content_filter', status: 400 };
    endpoint.answers((response) => {
      response.writeHead(400, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error }));
    });
    const { error: failure } = await outcome();
    expect(failure).toMatchObject({ code: 'handler_failed' });
    expect(failure!.detail).toMatch(/refuses the text because of its content/);
  });
});

interface Message {
  role: string;
  tool_calls?: { id: string }[];
}
