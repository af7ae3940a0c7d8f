import { Injectable, Module } from '@nestjs/common';
import { MockLanguageModelV3 } from 'ai/test';
import { IsNumber, IsOptional, Max } from 'class-validator';
import { AgentHandler, type Query, type QueryContext, QueryModule } from 'nest-agent-query';
import { ask, request } from '../../../test/support/client.js';
import { describeOnOneAdapter, startHost } from '../../../test/support/host.js';
import { fromAiSdk } from './index.js';

class AskKwargs {
  @IsOptional()
  @IsNumber()
  @Max(2)
  temperature = 0.5;

  get isCareful(): boolean {
    return this.temperature < 1;
  }
}

@Injectable()
class Models {
  readonly model = new MockLanguageModelV3({
    doStream: async () => ({ stream: ReadableStream.from(PARTS) }),
  });
}

const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const PARTS = [
  { type: 'text-start' as const, id: '1' },
  { type: 'text-delta' as const, id: '1', delta: 'Hi' },
  { type: 'text-end' as const, id: '1' },
  {
    type: 'finish' as const,
    finishReason: { unified: 'stop' as const, raw: 'stop' },
    usage: { inputTokens: tokens, outputTokens: tokens },
  },
];

@Module({ providers: [Models], exports: [Models] })
class ModelsModule {}

@Injectable()
class AssistantHandler extends AgentHandler<AskKwargs> {
  override readonly restarts: number;
  readonly #agent: AgentHandler<AskKwargs>;

  constructor({ model }: Models) {
    super();
    this.#agent = fromAiSdk<AskKwargs>(({ kwargs }) => ({
      model,
      temperature: kwargs.temperature,
      seed: kwargs.isCareful ? 1 : 2,
    }));
    this.restarts = this.#agent.restarts ?? 0;
  }

  handle(query: Query<AskKwargs>, context: QueryContext) {
    return this.#agent.handle(query, context);
  }
}

describeOnOneAdapter('An injectable class around fromAiSdk, with a class for kwargs, on %s', (adapter) => {
  it('gives the function that chooses the agent an instance of the class', async () => {
    const module = QueryModule.forRoot({
      handler: AssistantHandler,
      kwargs: AskKwargs,
      imports: [ModelsModule],
    });
    const host = await startHost(adapter, module);
    const { model } = host.app.get(Models, { strict: false });
    for (const kwargs of [{}, { temperature: 1.5 }])
      expect((await (await ask(host.url, 'Hello', { kwargs })).answer()).text).toBe('Hi');
    expect(model.doStreamCalls).toMatchObject([
      { temperature: 0.5, seed: 1 },
      { temperature: 1.5, seed: 2 },
    ]);
    const body = { parts: [{ type: 'text', text: 'Hello' }], kwargs: { temperature: 'hot' } };
    const refused = await request(host.url, {}, JSON.stringify(body));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      errors: [
        {
          pointer: '/kwargs/temperature',
          detail: 'must be a number conforming to the specified constraints',
        },
      ],
    });
    expect(model.doStreamCalls).toHaveLength(2);
    await host.close();
  });
});
