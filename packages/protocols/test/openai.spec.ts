import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import {
  type HandlerFunction,
  isApproved,
  message,
  QueryModule,
  type QueryModuleOptions,
  reasoning,
  result,
  toolCall,
  toolResult,
  usage,
} from 'nest-agent-query';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { openStore } from 'nest-agent-query/stores';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { eventually } from '../../../test/support/conditions.js';
import { CuttingProxy } from '../../../test/support/cutting-proxy.js';
import { describeOnOneAdapter, type Host, startHost } from '../../../test/support/host.js';
import { ScriptedAgent } from '../../../test/support/scripted-agent.js';

/** More bytes than what is not a file may have. */
const LARGE = 20_000_000;

const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};

const textOf: (query: Parameters<HandlerFunction>[0]) => string = ({ parts }) =>
  parts.map((part) => (part.type === 'text' ? part.text : `${part.name} (${part.file.size})`)).join(' ');

/** Does what the text of the query says. */
const assistant: HandlerFunction = Object.assign(
  async function* (query, context) {
    const text = textOf(query);
    if (text.startsWith('weather')) {
      const [, city] = text.split(' ');
      yield toolCall('c1', 'get_weather', { city });
      const [answer] = await context.ask([
        {
          key: 'c1',
          kind: 'tool',
          message: 'Call it.',
          toolCallId: 'c1',
          name: 'get_weather',
          arguments: { city },
        },
      ]);
      const { content } = answer!.value as { content: unknown };
      yield toolResult('c1', content);
      yield message(`In ${city} it is ${String(content)}.`);
    } else if (text === 'refund') {
      const [answer] = await context.ask([
        {
          key: 'refund',
          kind: 'approval',
          message: 'Refund?',
          toolCallId: 'c9',
          name: 'refund',
          arguments: { amount: 120 },
        },
      ]);
      if (isApproved(answer)) yield toolResult('c9', 'done');
      yield message(
        isApproved(answer)
          ? 'Refunded.'
          : `Not refunded: ${String((answer!.value as { reason: string }).reason)}`,
      );
    } else if (text === 'value') {
      yield message('Here it is:');
      yield result({ city: 'Paris', celsius: 21 });
    } else {
      yield reasoning('Hm.');
      yield message(`You said `);
      yield message(text);
      yield usage({ inputTokens: 3, outputTokens: 5, cachedInputTokens: 1, reasoningTokens: 2 });
    }
  } as HandlerFunction,
  { restarts: 1 },
);

describeOnOneAdapter('The official client of OpenAI on %s', (adapter) => {
  let host: Host;
  let client: OpenAI;
  const start = async (handler: HandlerFunction = assistant, options: Partial<QueryModuleOptions> = {}) => {
    const runs = { drainMs: 0, stopDeadlineMs: 100, ...options.runs };
    @Module({ imports: [QueryModule.forRoot({ ...options, runs, handler }), OpenAiModule.forRoot()] })
    class AppModule {}
    host = await startHost(adapter, AppModule);
    client = clientOf(host.url);
  };
  const clientOf = (url: string, caller = 'ann') =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey: caller, maxRetries: 0 });
  afterEach(async () => {
    await host.idle();
    await host.close();
  });

  it('gets a response at once, and as a stream with its helper', async () => {
    await start();
    const response = await client.responses.create({ input: 'hello', metadata: { a: 'é' } });
    expect(response).toMatchObject({
      status: 'completed',
      output_text: 'You said hello',
      metadata: { a: 'é' },
      usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
    });
    const stream = client.responses.stream({ model: 'agent', input: 'hello' });
    const snapshots: string[] = [];
    stream.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot));
    const final = await stream.finalResponse();
    expect(snapshots).toEqual(['You said ', 'You said hello']);
    expect(final.output_text).toBe('You said hello');
    const again = await client.responses.retrieve(final.id);
    expect(again.output.map(({ id }) => id)).toEqual(final.output.map(({ id }) => id));
    const items = await client.responses.inputItems.list(final.id);
    expect(items.data).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
    ]);
  });

  it('follows a stream again with starting_after, and with its helper', async () => {
    await start();
    const events = async (stream: AsyncIterable<{ sequence_number: number }>) => {
      const all = [];
      for await (const event of stream) all.push(event);
      return all;
    };
    const created = await client.responses.create({ model: 'agent', input: 'hello', stream: true });
    const all = await events(created as never);
    const { id } = (all[0] as unknown as { response: { id: string } }).response;
    expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, index) => index));
    for (const [index] of all.entries()) {
      const rest = await client.responses.retrieve(id, { stream: true, starting_after: index });
      expect(await events(rest as never)).toEqual(all.slice(index + 1));
    }
    const helped = client.responses.stream({ response_id: id, starting_after: 5 });
    const seen = await events(helped as never);
    expect(seen).toEqual(all.slice(6));
    expect((await helped.finalResponse()).output_text).toBe('You said hello');
  });

  it('resumes a stream that was cut', async () => {
    const agent = new ScriptedAgent();
    await start(agent.handler);
    const proxy = await CuttingProxy.before(host.url);
    const cut = clientOf(proxy.url);
    const stream = await cut.responses.create({ model: 'agent', input: 'x', stream: true });
    const call = await agent.call(1);
    for (let i = 0; i < 20; i++) call.emit(message(`${i} `));
    let last = -1;
    let id = '';
    let text = '';
    const read = async (events: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>) => {
      for await (const event of events) {
        last = event.sequence_number;
        if (event.type === 'response.created') ({ id } = event.response);
        if (event.type === 'response.output_text.delta') text += event.delta;
        if (event.type === 'response.output_text.delta' && event.delta === '9 ') proxy.cutAfter(100);
        if (event.type === 'response.output_text.delta' && event.delta === '19 ') call.emit(message('more'));
      }
    };
    await expect(read(stream)).rejects.toThrow();
    call.finish();
    await read(await clientOf(host.url).responses.retrieve(id, { stream: true, starting_after: last }));
    expect(text).toBe(`${Array.from({ length: 20 }, (_, i) => `${i} `).join('')}more`);
    await proxy.stop();
  });

  it('lets a response run in the background, looks at it, and cancels it', async () => {
    const agent = new ScriptedAgent();
    await start(agent.handler);
    const { id, status, background } = await client.responses.create({ input: 'x', background: true });
    expect({ status, background }).toEqual({ status: 'queued', background: true });
    const call = await agent.call(1);
    call.emit(message('so far'));
    await eventually(async () => (await client.responses.retrieve(id)).output_text === 'so far');
    expect((await client.responses.retrieve(id)).status).toBe('in_progress');
    expect((await client.responses.inputItems.list(id)).data).toMatchObject([{ content: [{ text: 'x' }] }]);
    expect(await client.responses.cancel(id)).toMatchObject({
      status: 'cancelled',
      output: [{ status: 'incomplete', content: [{ text: 'so far' }] }],
    });
    const other = await client.responses.create({ input: 'y', background: true, stream: true });
    (await agent.call(2)).finish();
    for await (const event of other)
      if (event.type === 'response.completed') expect(event.response.status).toBe('completed');
  });

  it('continues a response, from any response on, and in a conversation', async () => {
    await start(async function* (query, { history }) {
      yield message([...history.map(({ text }) => text), textOf(query)].join(' > '));
    });
    const ask = async (
      input: string,
      more: Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming> = {},
    ) => {
      const { id, output_text: text } = await client.responses.create({ input, ...more });
      return { id, text };
    };
    const a = await ask('a');
    const b = await ask('b', { previous_response_id: a.id });
    const [c, d] = [
      await ask('c', { previous_response_id: a.id }),
      await ask('d', { previous_response_id: b.id }),
    ];
    expect([b.text, c.text, d.text]).toEqual(['a > b', 'a > c', 'a > a > b > d']);
    const conversation = await client.conversations.create();
    expect(await client.conversations.retrieve(conversation.id)).toEqual(conversation);
    await ask('1', { conversation: conversation.id });
    expect((await ask('2', { conversation: conversation.id })).text).toBe('1 > 2');
    const items = [];
    for await (const item of client.conversations.items.list(conversation.id, { limit: 1, order: 'asc' }))
      items.push(item);
    expect(items.map((item) => item.type === 'message' && item.content)).toMatchObject([
      [{ type: 'input_text', text: '1' }],
      [{ type: 'output_text', text: '1' }],
      [{ type: 'input_text', text: '2' }],
      [{ type: 'output_text', text: '1 > 2' }],
    ]);
    const newest = await client.conversations.items.list(conversation.id, { limit: 1 });
    expect(newest.data).toMatchObject([{ id: items[3]!.id }]);
    expect(await client.conversations.delete(conversation.id)).toMatchObject({ deleted: true });
    await expect(client.conversations.retrieve(conversation.id)).rejects.toMatchObject({ status: 404 });
    await expect(ask('3', { conversation: conversation.id })).rejects.toMatchObject({ status: 404 });
    await client.responses.delete((await ask('e')).id);
    await expect(client.responses.delete(b.id)).rejects.toMatchObject({ status: 409 });
    const unstored = await ask('f', { store: false });
    await expect(client.responses.retrieve(unstored.id)).rejects.toMatchObject({ status: 404 });
  });

  it('executes tools, and approves calls', async () => {
    await start();
    const tools = [{ type: 'function' as const, ...WEATHER, strict: true }];
    const asked = await client.responses.create({ input: 'weather Paris', tools });
    expect(asked).toMatchObject({
      status: 'completed',
      output: [{ type: 'function_call', name: 'get_weather', arguments: '{"city":"Paris"}' }],
    });
    const call = asked.output[0] as OpenAI.Responses.ResponseFunctionToolCall;
    const output = { type: 'function_call_output' as const, call_id: call.call_id, output: 'sunny' };
    const answered = await client.responses.create({
      previous_response_id: asked.id,
      input: [output],
      tools,
    });
    expect(answered).toMatchObject({ output_text: 'In Paris it is sunny.', previous_response_id: asked.id });
    expect((await client.responses.retrieve(answered.id)).output_text).toBe('In Paris it is sunny.');
    expect((await client.responses.inputItems.list(answered.id)).data).toMatchObject([output]);
    // Without anything but what it was told.
    const input = [{ role: 'user' as const, content: 'weather Rome' }];
    const stream = client.responses.stream({ model: 'agent', input, tools, store: false });
    const { output: told } = await stream.finalResponse();
    const { call_id } = told[0] as OpenAI.Responses.ResponseFunctionToolCall;
    const last = await client.responses.create({
      input: [...input, ...(told as never[]), { type: 'function_call_output', call_id, output: 'dry' }],
      store: false,
    });
    expect(last.output_text).toBe('In Rome it is dry.');
    for (const [approve, text] of [
      [true, 'Refunded.'],
      [false, 'Not refunded: no'],
    ] as const) {
      const waiting = await client.responses.create({ input: 'refund' });
      expect(waiting.output).toMatchObject([
        { type: 'mcp_approval_request', name: 'refund', arguments: '{"amount":120}' },
      ]);
      const { id } = waiting.output[0] as OpenAI.Responses.ResponseOutputItem.McpApprovalRequest;
      const decided = await client.responses.create({
        previous_response_id: waiting.id,
        input: [{ type: 'mcp_approval_response', approval_request_id: id, approve, reason: 'no' }],
      });
      expect(decided.output_text).toBe(text);
    }
  });

  it('parses a structured result', async () => {
    await start();
    const Weather = z.object({ city: z.string(), celsius: z.number() });
    const format = zodTextFormat(Weather, 'weather');
    const parsed = await client.responses.parse({ input: 'value', text: { format } });
    expect(parsed.output_parsed).toEqual({ city: 'Paris', celsius: 21 });
    const stream = client.responses.stream({ model: 'agent', input: 'value', text: { format } });
    expect((await stream.finalResponse()).output_parsed).toEqual({ city: 'Paris', celsius: 21 });
    const completion = await client.chat.completions.parse({
      model: 'agent',
      messages: [{ role: 'user', content: 'value' }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'weather', schema: z.toJSONSchema(Weather) },
      },
    });
    expect(completion.choices[0]!.message.content).toBe('{"city":"Paris","celsius":21}');
  });

  it('gets completions, with and without a stream, and runs tools', async () => {
    await start();
    const messages = [{ role: 'user' as const, content: 'hello' }];
    const completion = await client.chat.completions.create({ model: 'agent', messages });
    expect(completion).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: 'You said hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
    });
    const stream = client.chat.completions.stream({
      model: 'agent',
      messages,
      stream_options: { include_usage: true },
    });
    expect(await stream.finalContent()).toBe('You said hello');
    expect(await stream.totalUsage()).toMatchObject({ total_tokens: 8 });
    for (const isStream of [false, true]) {
      const tool = {
        type: 'function' as const,
        function: {
          ...WEATHER,
          function: ({ city }: { city: string }) => `hot in ${city}`,
          parse: JSON.parse,
        },
      };
      const runner = client.chat.completions.runTools({
        model: 'agent',
        messages: [{ role: 'user', content: 'weather Oslo' }],
        tools: [tool] as never,
        stream: isStream as false,
      });
      expect(await runner.finalContent()).toBe('In Oslo it is hot in Oslo.');
    }
  });

  it('sends a file that is longer than what is not a file may be', async () => {
    await start();
    const data = Buffer.alloc(LARGE, 'a').toString('base64');
    const response = await client.responses.create({
      input: [
        {
          role: 'user',
          content: [{ type: 'input_file', filename: 'a.txt', file_data: `data:text/plain;base64,${data}` }],
        },
      ],
    });
    expect(response.output_text).toBe(`You said a.txt (${LARGE})`);
  });

  it('runs into a limit, and knows when to try again', async () => {
    const agent = new ScriptedAgent();
    await start(agent.handler, { runs: { maxRunning: 1, maxWaiting: 0 } });
    const first = await client.responses.create({ model: 'agent', input: 'one', background: true });
    const refused = client.responses.create({ model: 'agent', input: 'two' });
    await expect(refused).rejects.toMatchObject({ status: 503, code: 'at_capacity' });
    const headers = await refused.catch(({ headers: given }: { headers: Headers }) => given);
    expect(Number((headers as Headers).get('retry-after'))).toBeGreaterThan(0);
    await client.responses.cancel(first.id);
    const retrying = client.withOptions({ maxRetries: 3 });
    const later = retrying.responses.create({ model: 'agent', input: 'three' });
    (await agent.callFor('three')).finish();
    expect((await later).status).toBe('completed');
  });

  it('is refused as OpenAI refuses', async () => {
    await start(assistant, {
      owner: ({ headers }) => headers['authorization'],
    });
    const { id } = await client.responses.create({ input: 'hello' });
    await expect(clientOf(host.url, 'bob').responses.retrieve(id)).rejects.toThrow(OpenAI.NotFoundError);
    await expect(client.embeddings.create({ model: 'x', input: '' })).rejects.toMatchObject({
      status: 404,
      code: 'not_found',
      type: 'invalid_request_error',
    });
    await expect(
      client.responses.create({
        input: [
          { role: 'user', content: [{ type: 'input_image', image_url: 'http://a/b.png', detail: 'auto' }] },
        ],
      }),
    ).rejects.toMatchObject({ status: 400, code: 'invalid_query', param: 'input[0].content[0].image_url' });
    expect((await client.models.list()).data).toMatchObject([{ id: 'agent' }]);
    expect(await client.models.retrieve('agent')).toMatchObject({ id: 'agent' });
  });

  it('answers a run that was asked before a restart of the service', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'openai-'));
    const withStore = async () =>
      start(assistant, { store: await openStore(`file:${join(directory, 'runs.db')}`) });
    await withStore();
    const asked = await client.responses.create({ input: 'refund' });
    await host.close();
    await withStore();
    const { id } = asked.output[0] as OpenAI.Responses.ResponseOutputItem.McpApprovalRequest;
    const decided = await client.responses.create({
      previous_response_id: asked.id,
      input: [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }],
    });
    expect(decided.output_text).toBe('Refunded.');
    expect(decided.output[0]).toMatchObject({
      type: 'mcp_call',
      name: 'refund',
      approval_request_id: id,
      output: 'done',
    });
    await host.idle();
    await rm(directory, { recursive: true });
  });
});
