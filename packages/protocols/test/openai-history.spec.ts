import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Module } from '@nestjs/common';
import {
  Agent,
  MemorySession,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  tool,
} from '@openai/agents';
import { type HandlerFunction, message, QueryModule, toolCall, toolResult } from 'nest-agent-query';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import OpenAI from 'openai';
import { z } from 'zod';
import { describeOnOneAdapter, type Host, startHost } from '../../../test/support/host.js';

/** What the agent was told: the query, the turns before it, and the session. */
type Told = [query: string, history: [question: string, answer: string][], session: string | undefined];

let told: Told[] = [];

const assistant: HandlerFunction = async function* ({ parts }, context) {
  const textOf = (all: object[]) =>
    all.map((part) => ('text' in part ? part.text : (part as { name: string }).name)).join('|');
  const query = textOf(parts);
  const turns = context.history.map(({ parts: asked, text }): [string, string] => [textOf(asked), text]);
  told.push([query, turns, context.session?.id]);
  if (query !== 'weather') {
    yield toolCall('t', 'lookup', {});
    yield toolResult('t', 'found');
    yield message(`answer to ${query}`);
    return;
  }
  for (const city of ['Rome', 'Oslo']) {
    const call = { key: city, kind: 'tool', message: 'Call it.', name: 'get_weather' } as const;
    const [answer] = await context.ask([{ ...call, toolCallId: city, arguments: { city } }]);
    yield message(`${city}: ${String((answer!.value as { content: unknown }).content)}. `);
  }
};

describeOnOneAdapter('A conversation of clients that send all of it, on %s', (adapter) => {
  let host: Host;
  let client: OpenAI;
  beforeAll(async () => {
    @Module({ imports: [QueryModule.forRoot({ handler: assistant }), OpenAiModule.forRoot()] })
    class AppModule {}
    host = await startHost(adapter, AppModule);
    client = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });
  beforeEach(() => {
    told = [];
  });
  afterAll(async () => {
    await host.idle();
    await host.close();
  });

  const WEATHER = 'Rome: sunny. Oslo: sunny. ';

  it.each(['weather', 'one'])(
    'has each turn once for Agents of OpenAI, from a response on: %s',
    async (first) => {
      const parameters = z.object({ city: z.string() });
      const get_weather = tool({
        ...{ name: 'get_weather', description: 'The weather', parameters },
        execute: () => Promise.resolve('sunny'),
      });
      const answers: [string, string][] = [
        [first, first === 'weather' ? WEATHER : 'answer to one'],
        ['two', 'answer to two'],
      ];
      for (const Model of [OpenAIResponsesModel, OpenAIChatCompletionsModel]) {
        told = [];
        const model = new Model(client, 'agent');
        const agent = new Agent({ name: 'x', model, tools: [get_weather] });
        const session = new MemorySession();
        const runner = new Runner({ tracingDisabled: true });
        for (const text of [first, 'two', 'three']) await runner.run(agent, text, { session });
        const [, , id] = told[0]!;
        expect(told).toEqual([
          [first, [], id],
          ['two', answers.slice(0, 1), id],
          ['three', answers, id],
        ]);
        expect(id === undefined).toBe(Model === OpenAIChatCompletionsModel);
      }
    },
  );

  it('has each turn once for the official client, whole or by reference', async () => {
    const first = await client.responses.create({ model: 'agent', input: 'one' });
    expect(first.output.map(({ type }) => type)).toEqual(['mcp_call', 'message']);
    const [call, text] = first.output as (OpenAI.Responses.ResponseOutputItem & { id: string })[];
    const one = { role: 'user' as const, content: 'one' };
    const two = { role: 'user' as const, content: 'two' };
    const reference = (id: string) => ({ type: 'item_reference' as const, id });
    const inputs: OpenAI.Responses.ResponseInput[] = [
      [one, ...(first.output as OpenAI.Responses.ResponseInputItem[]), two],
      [one, reference(call!.id), reference(text!.id), two],
      [reference(text!.id), two],
      [one, { id: call!.id }, text as OpenAI.Responses.ResponseOutputMessage, two],
    ];
    for (const input of inputs) {
      const stream = client.responses.stream({ model: 'agent', input });
      expect((await stream.finalResponse()).output_text).toBe('answer to two');
      expect(told.at(-1)!.slice(0, 2)).toEqual(['two', [['one', 'answer to one']]]);
    }
    const unknown = client.responses.create({ model: 'agent', input: [one, reference('msg_1'), two] });
    await expect(unknown).rejects.toMatchObject({ status: 400, param: 'input[1].id', code: 'invalid_query' });
  });

  it.each([false, true])('has each turn once for LangChain, and its images: %s', async (useResponsesApi) => {
    const model = new ChatOpenAI({
      ...{ model: 'agent', apiKey: 'none', useResponsesApi, maxRetries: 0 },
      configuration: { baseURL: `${host.url}/v1` },
    });
    const image = { type: 'image', source_type: 'base64', mime_type: 'image/png', data: 'YWJj' };
    const question = new HumanMessage({ content: [{ type: 'text', text: 'one' }, image] as never });
    const answer = await model.invoke([question]);
    expect(answer.text).toBe('answer to one|image.png');
    await model.invoke([question, answer, new HumanMessage('two')]);
    // What no session has comes with the query.
    const [asked, query] = useResponsesApi ? ['one|image.png', 'two'] : ['one', 'image.png|two'];
    expect(told.at(-1)!.slice(0, 2)).toEqual([query, [[asked, 'answer to one|image.png']]]);
  });
});
