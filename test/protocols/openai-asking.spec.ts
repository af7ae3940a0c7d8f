import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HandlerFunction, message, type Question, toolCall, toolResult } from '../../src/index.js';
import { openStore } from '../../src/stores/index.js';
import { REFUND } from '../support/asking.js';
import { describeOnOneAdapter, type Host } from '../support/host.js';
import { fetchAt, type Item, lastOf, post, respond, startOpenAi, typesOf } from './openai-host.js';

const ADD: Question = {
  key: 'k1',
  kind: 'tool',
  message: 'Call it.',
  toolCallId: 'k1',
  name: 'add',
  arguments: { a: 1 },
};
const QUARTER: Question = {
  key: 'q',
  kind: 'input',
  message: 'Which quarter?',
  schema: { enum: ['Q1', 'Q2'] },
};
const SIGN_IN: Question = { key: 's', kind: 'auth', message: 'Sign in.', url: 'https://a.example/' };

/** Asks all of it at once, then for an approval, and tells the values. */
const asks: HandlerFunction = Object.assign(
  async function* (_, context) {
    yield message('Let me see.');
    yield toolCall('k1', 'add', { a: 1 });
    const answers = await context.ask([ADD, QUARTER, SIGN_IN]);
    yield toolResult('k1', (answers[0]!.value as { content: unknown }).content);
    yield toolCall('call_9', 'refund', { customer: 881, amount: 120 });
    const [approval] = await context.ask([REFUND]);
    yield toolResult('call_9', 'done');
    yield message(JSON.stringify([...answers, approval].map((answer) => answer!.value)));
  } as HandlerFunction,
  { restarts: 3 },
);

const output = (item: Item, value: string) => ({
  type: 'function_call_output',
  call_id: item['call_id'],
  output: value,
});

describeOnOneAdapter('What a run asks, as OpenAI has it, on %s', (adapter) => {
  let host: Host;
  // A run may still ask.
  afterEach(() => host.close());

  it('is items of a response, whose answers begin the next response, also after a restart of the service', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'openai-'));
    const start = async () => {
      const store = await openStore(`file:${join(directory, 'runs.db')}`);
      host = await startOpenAi(adapter, asks, { store });
    };
    await start();
    const stream = await (await post(host.url, 'responses', { input: 'Hi', stream: true })).whole();
    const first = lastOf(stream);
    const [runId] = /[\da-f-]{36}/.exec(first.id)!;
    const calls = first.output.slice(1);
    expect(first).toMatchObject({ status: 'completed', usage: null });
    expect(calls).toEqual([
      call('k1', 'add', { a: 1 }),
      call('q', 'request_user_input', { message: 'Which quarter?', schema: { enum: ['Q1', 'Q2'] } }),
      call('s', 'request_sign_in', { message: 'Sign in.', url: 'https://a.example/' }),
    ]);
    expect(typesOf(stream).slice(-5)).toEqual([
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ]);
    await host.close();
    await start();
    expect((await fetchAt(host.url, `responses/resp_${runId}_2`)).status).toBe(404);
    const answers = [output(calls[0]!, '2'), output(calls[1]!, '"Q2"'), output(calls[2]!, '')];
    const answer = (input: unknown) => post(host.url, 'responses', { input, previous_response_id: first.id });
    const partly = await (await answer(answers.slice(0, 2))).json<{ error: object }>();
    expect(partly.error).toMatchObject({ param: 'input[0].call_id', code: 'invalid_query' });
    const wrong = await (
      await answer([answers[0], output(calls[1]!, 'Q3'), answers[2]])
    ).json<{ error: object }>();
    expect(wrong.error).toMatchObject({ param: 'input[1].call_id' });
    const second = await respond(host.url, answers, { previous_response_id: first.id });
    // Instructions behind it are no newer question, and references before it need not be read.
    const told = [{ type: 'item_reference', id: first.output[0]!.id }, ...answers];
    expect((await respond(host.url, [...told, { role: 'developer', content: 'Hm' }])).id).toBe(second.id);
    const approval = {
      id: `mcpr_${runId}_refund-881`,
      type: 'mcp_approval_request',
      server_label: 'agent',
      name: 'refund',
      arguments: '{"customer":881,"amount":120}',
    };
    expect(second).toMatchObject({ id: `resp_${runId}_2`, previous_response_id: first.id });
    expect(second.output.at(-1)).toEqual(approval);
    expect((await respond(host.url, answers)).id).toBe(second.id);
    await host.close();
    await start();
    const decision = {
      type: 'mcp_approval_response',
      approval_request_id: approval.id,
      approve: true,
      arguments: { forged: true },
    };
    const decided = await post(host.url, 'responses', { input: [approval, decision], stream: true });
    const third = lastOf(await decided.whole());
    expect(third).toMatchObject({ id: `resp_${runId}_3`, status: 'completed' });
    const values = '[{"content":"2"},"Q2",{},{"approved":true}]';
    expect(third.output.slice(-2)).toMatchObject([
      { type: 'mcp_call', name: 'refund', approval_request_id: approval.id, output: 'done' },
      { type: 'message', content: [{ text: values }] },
    ]);
    for (const response of [first, second, third])
      expect(await (await fetchAt(host.url, `responses/${response.id}`)).json()).toMatchObject({
        output: response.output,
      });
    const given = await (await fetchAt(host.url, `responses/${third.id}/input_items`)).json();
    expect(given).toMatchObject({ data: [{ type: 'mcp_approval_response', approve: true }] });
    await rm(directory, { recursive: true });

    function call(key: string, name: string, args: object) {
      return {
        id: `fc_${runId}_${key}`,
        type: 'function_call',
        call_id: `call_${runId}_${key}`,
        name,
        arguments: JSON.stringify(args),
        status: 'completed',
      };
    }
  });

  it('is answered once where a client sends the answers to earlier questions again', async () => {
    const asked = (key: string): Question => ({ ...ADD, key, toolCallId: key });
    host = await startOpenAi(adapter, async function* (_, context) {
      for (const keys of [['a'], ['b', 'c']]) {
        const answers = await context.ask(keys.map(asked));
        yield message(`${JSON.stringify(answers.map(({ value }) => value))} `);
      }
    });
    const first = await respond(host.url, 'Hi');
    const [a] = first.output;
    const second = await respond(host.url, [output(a!, '1')]);
    const [b, c] = second.output.slice(1);
    const all = [output(a!, 'cleared'), output(b!, '2'), output(c!, '3')];
    const refused = async (input: unknown) => (await post(host.url, 'responses', { input })).json();
    expect(await refused(all.slice(0, 2))).toMatchObject({ error: { param: 'input[1].call_id' } });
    expect(await refused([...all, output(c!, '4')])).toMatchObject({
      error: { message: expect.stringContaining('answered twice') as string, param: 'input[3].call_id' },
    });
    const third = await respond(host.url, all);
    expect(third.id).not.toBe(second.id);
    expect(JSON.stringify(third.output)).toContain('2');
    // A client that has lost the answer sends the same again.
    expect((await respond(host.url, all)).id).toBe(third.id);
  });

  it('is found again after a reload: in the response, in its stream, and in the items of the conversation', async () => {
    host = await startOpenAi(adapter, async function* (_, context) {
      yield message('Wait.');
      await context.ask([REFUND]);
      yield message('Paid.');
    });
    const asked = await respond(host.url, 'Refund', { conversation: 'c1' });
    const [, approval] = asked.output;
    expect(approval!.type).toBe('mcp_approval_request');
    const again = await (await fetchAt(host.url, `responses/${asked.id}`)).json<typeof asked>();
    expect([again['status'], again.output]).toEqual(['completed', asked.output]);
    const stream = await (await fetchAt(host.url, `responses/${asked.id}?stream=true`)).whole();
    expect(lastOf(stream).output).toEqual(asked.output);
    const items = async () =>
      (await (await fetchAt(host.url, 'conversations/c1/items?order=asc')).json<{ data: Item[] }>()).data;
    expect((await items()).map(({ type }) => type)).toEqual(['message', 'message', 'mcp_approval_request']);
    expect((await items()).slice(1)).toEqual(asked.output);
    const decision = { type: 'mcp_approval_response', approval_request_id: approval!.id, approve: true };
    await respond(host.url, [decision]);
    expect((await items()).map(({ type }) => type)).toEqual([
      ...['message', 'message', 'mcp_approval_request', 'mcp_approval_response', 'message'],
    ]);
  });

  it('is answered by a message to the same conversation only if the run is not asked', async () => {
    host = await startOpenAi(adapter, async function* ({ parts }, context) {
      if (parts[0]!.type === 'text' && parts[0]!.text === 'ask') await context.ask([REFUND]);
      yield message('Other');
    });
    const asked = await respond(host.url, 'ask');
    const other = await respond(host.url, 'Never mind', { previous_response_id: asked.id });
    expect(other.output).toMatchObject([{ content: [{ text: 'Other' }] }]);
    const { id } = asked.output[0]!;
    const decision = { type: 'mcp_approval_response', approval_request_id: id, approve: true };
    const late = await post(host.url, 'responses', { input: [decision] });
    expect(late.status).toBe(409);
  });

  it('is a tool call of a chat, if the client has a function for it', async () => {
    host = await startOpenAi(adapter, async function* (_, context) {
      const [tool, quarter] = await context.ask([ADD, QUARTER]);
      yield message(JSON.stringify([tool!.value, quarter!.value]));
    });
    const messages: object[] = [{ role: 'user', content: 'Hi' }];
    const refused = await post(host.url, 'chat/completions', { messages });
    expect(refused.status).toBe(400);
    expect(refused.headers['x-should-retry']).toBe('false');
    expect(await refused.json()).toMatchObject({ error: { code: 'unanswerable' } });
    const tools = [{ type: 'function', function: { name: 'request_user_input' } }];
    const asked = await (await post(host.url, 'chat/completions', { messages, tools })).json<Completion>();
    const [{ message: said, finish_reason: reason }] = asked.choices;
    expect(reason).toBe('tool_calls');
    expect(said).toMatchObject({
      content: null,
      tool_calls: [{ function: { name: 'add' } }, { function: { name: 'request_user_input' } }],
    });
    messages.push(said);
    for (const [index, content] of ['2', 'Q1'].entries())
      messages.push({ role: 'tool', tool_call_id: said.tool_calls[index]!.id, content });
    // Instructions behind the results are no newer question.
    messages.push({ role: 'system', content: 'Hm' });
    const answered = await post(host.url, 'chat/completions', { messages, tools, stream: true });
    expect(await answered.whole()).toContain('"delta":{"content":"[{\\"content\\":\\"2\\"},\\"Q1\\"]"}');
  });
});

interface Completion {
  choices: [{ message: { tool_calls: { id: string }[] }; finish_reason: string }];
}
