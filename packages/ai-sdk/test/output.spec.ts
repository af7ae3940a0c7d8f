import { Output, ToolLoopAgent } from 'ai';
import { collect, contextOf, queryOf } from 'nest-agent-query/testing';
import { z } from 'zod';
import { FakeModel } from '../../../test/contracts/adapters/fake-model.js';
import { type AiSdkSource, fromAiSdk } from '../src/index.js';
import { modelOf } from './harness.js';

const model = (...texts: string[]) =>
  modelOf(
    new FakeModel([
      {
        acts: [
          ...texts.map((text) => ({ type: 'text' as const, text })),
          { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } },
        ],
      },
    ]),
  );
const output = Output.object({ schema: z.object({ city: z.string() }) });

async function answer(source: AiSdkSource) {
  const context = await contextOf();
  const envelopes = await collect(fromAiSdk(source).handle(await queryOf('Which?'), context));
  return { context, envelopes };
}

describe('The structured output of the AI SDK', () => {
  it.each([
    ['options', () => ({ model: model('{"city":', '"Paris"}'), output })],
    ['an agent', () => new ToolLoopAgent({ model: model('{"city":', '"Paris"}'), output })],
  ])('is the result, after the text of the model, with %s', async (_, source) => {
    const { envelopes, context } = await answer(source());
    expect(envelopes.map(({ type }) => type)).toEqual(['message', 'message', 'usage', 'result']);
    expect(envelopes.at(-1)!.data).toEqual({ value: { city: 'Paris' } });
    expect(context.checkpoints).toHaveLength(1);
  });

  it('is none for an agent that answers with texts', async () => {
    for (const source of [{ model: model('Paris') }, { model: model('Paris'), output: Output.text() }])
      expect((await answer(source as AiSdkSource)).envelopes.map(({ type }) => type)).toEqual([
        'message',
        'usage',
      ]);
  });

  it('fails the run if the model has not kept to its schema', async () => {
    await expect(answer({ model: model('Paris'), output })).rejects.toMatchObject({
      code: 'handler_failed',
    });
  });
});
