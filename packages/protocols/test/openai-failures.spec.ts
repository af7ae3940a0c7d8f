import { ChatOpenAI } from '@langchain/openai';
import { Module } from '@nestjs/common';
import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
} from '@openai/agents';
import { type HandlerFunction, message, QueryError, QueryModule } from 'nest-agent-query';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import OpenAI from 'openai';
import { describeOnOneAdapter, type Host, startHost } from '../../../test/support/host.js';

const SENTENCE = 'The model is gone.';

let runs = 0;

/** Fails before its first output, or after it. */
const failing: HandlerFunction = async function* ({ parts: [part] }) {
  runs++;
  if (part?.type === 'text' && part.text === 'late') yield message('So far');
  throw new QueryError('handler_failed', SENTENCE);
};

/** Reads a stream to its end. */
async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  const reader = stream[Symbol.asyncIterator]();
  while (!(await reader.next()).done);
}

type Ask = (baseURL: string, input: string) => Promise<unknown>;

const openai = (baseURL: string) => new OpenAI({ baseURL, apiKey: 'none' });
const messagesOf = (content: string) => [{ role: 'user' as const, content }];
const model = 'agent';

const chat = (baseURL: string, useResponsesApi: boolean) =>
  new ChatOpenAI({ model, apiKey: 'none', configuration: { baseURL }, useResponsesApi, maxRetries: 2 });
const agentWith = (agentModel: OpenAIChatCompletionsModel | OpenAIResponsesModel) =>
  new Agent({ name: 'a', instructions: 'i', model: agentModel });
const responsesOf = (baseURL: string) => agentWith(new OpenAIResponsesModel(openai(baseURL), model));
const chatsOf = (baseURL: string) => agentWith(new OpenAIChatCompletionsModel(openai(baseURL), model));

async function runStream(agent: Agent, input: string): Promise<void> {
  const result = await run(agent, input, { stream: true });
  await drain(result);
  await result.completed;
}

const CLIENTS: [string, Ask][] = [
  ['openai, responses.create', (at, input) => openai(at).responses.create({ model, input })],
  [
    'openai, responses.create with a stream',
    async (at, input) => drain(await openai(at).responses.create({ model, input, stream: true })),
  ],
  ['openai, responses.stream', (at, input) => openai(at).responses.stream({ model, input }).finalResponse()],
  [
    'openai, chat.completions.create',
    (at, input) => openai(at).chat.completions.create({ model, messages: messagesOf(input) }),
  ],
  [
    'openai, chat.completions.create with a stream',
    async (at, input) =>
      drain(await openai(at).chat.completions.create({ model, messages: messagesOf(input), stream: true })),
  ],
  ['ChatOpenAI, invoke', (at, input) => chat(at, false).invoke(input)],
  ['ChatOpenAI, stream', async (at, input) => drain(await chat(at, false).stream(input))],
  ['ChatOpenAI with useResponsesApi, invoke', (at, input) => chat(at, true).invoke(input)],
  ['ChatOpenAI with useResponsesApi, stream', async (at, input) => drain(await chat(at, true).stream(input))],
  ['@openai/agents, Responses', (at, input) => run(responsesOf(at), input)],
  ['@openai/agents, Responses with a stream', (at, input) => runStream(responsesOf(at), input)],
  ['@openai/agents, chats', (at, input) => run(chatsOf(at), input)],
  ['@openai/agents, chats with a stream', (at, input) => runStream(chatsOf(at), input)],
];

describeOnOneAdapter('A run that fails, on %s,', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    setTracingDisabled(true);
    @Module({ imports: [QueryModule.forRoot({ handler: failing }), OpenAiModule.forRoot()] })
    class AppModule {}
    host = await startHost(adapter, AppModule);
  });
  afterAll(async () => {
    await host.idle();
    await host.close();
  });

  it.each(CLIENTS)('is executed once, and is told with its sentence: %s', async (_, ask) => {
    for (const input of ['first', 'late']) {
      runs = 0;
      await expect(ask(`${host.url}/v1`, input)).rejects.toThrow(SENTENCE);
      expect([input, runs]).toEqual([input, 1]);
    }
  });
});
