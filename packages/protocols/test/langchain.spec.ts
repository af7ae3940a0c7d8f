import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Module } from '@nestjs/common';
import { type HandlerFunction, message, QueryModule, usage } from 'nest-agent-query';
import { OpenAiModule } from 'nest-agent-query-protocols/openai';
import { describeOnOneAdapter, type Host, startHost } from '../../../test/support/host.js';

const WEATHER = {
  type: 'function' as const,
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

const assistant: HandlerFunction = async function* ({ parts, kwargs }, context) {
  if (kwargs['tools']) {
    const asked = {
      kind: 'tool',
      message: 'Call it.',
      name: 'get_weather',
      arguments: { city: 'Paris' },
    } as const;
    const [answer] = await context.ask([{ ...asked, key: 'w' }]);
    yield message(`It is ${String((answer!.value as { content: unknown }).content)}.`);
  } else {
    yield message('You said ');
    yield message(parts.map((part) => (part.type === 'text' ? part.text : part.name)).join());
    yield usage({ inputTokens: 3, outputTokens: 5 });
  }
};

describeOnOneAdapter('ChatOpenAI of LangChain on %s', (adapter) => {
  let host: Host;
  beforeAll(async () => {
    @Module({ imports: [QueryModule.forRoot({ handler: assistant }), OpenAiModule.forRoot()] })
    class AppModule {}
    host = await startHost(adapter, AppModule);
  });
  afterAll(async () => {
    await host.idle();
    await host.close();
  });

  it.each([false, true])(
    'asks, streams and calls tools, with the Responses API: %s',
    async (useResponsesApi) => {
      const configuration = { baseURL: `${host.url}/v1` };
      const model = new ChatOpenAI({
        model: 'agent',
        apiKey: 'none',
        configuration,
        useResponsesApi,
        maxRetries: 0,
      });
      const answer = await model.invoke('hello');
      expect(answer.text).toBe('You said hello');
      expect(answer.usage_metadata).toMatchObject({ input_tokens: 3, output_tokens: 5, total_tokens: 8 });
      let text = '';
      for await (const chunk of await model.stream('hello')) text += chunk.text;
      expect(text).toBe('You said hello');
      const bound = model.bindTools([WEATHER]);
      const question = new HumanMessage('How is the weather?');
      const asked = await bound.invoke([question]);
      const [call] = asked.tool_calls!;
      expect(call).toMatchObject({ name: 'get_weather', args: { city: 'Paris' } });
      const result = new ToolMessage({ content: 'sunny', tool_call_id: call!.id! });
      expect((await bound.invoke([question, asked, result])).text).toBe('It is sunny.');
    },
  );
});
