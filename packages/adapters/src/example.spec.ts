import { message, toolCall, toolResult } from 'nest-agent-query';
import { collect, contextOf, queryOf, type TurnInput } from 'nest-agent-query/testing';
import { type ChatChunk, type ChatMessage, fromChat } from '../../../examples/adapter/from-chat.js';
import type { AdapterOptions } from './index.js';

const FINISH: ChatChunk = { type: 'finish', inputTokens: 3, outputTokens: 2 };
const FINISHED = { type: 'usage', data: { inputTokens: 3, outputTokens: 2 } };

/** What the example answers, and what its client was given. */
async function answer(
  chunks: ChatChunk[],
  { turns = [], ...options }: AdapterOptions & { turns?: TurnInput[] } = {},
) {
  let asked: ChatMessage[] = [];
  const handler = fromChat(async function* (messages) {
    asked = messages;
    yield* chunks;
  }, options);
  const envelopes = await collect(handler(await queryOf('How many?'), await contextOf({ turns })));
  return { envelopes, asked };
}

describe('An adapter that is made of the kit', () => {
  it('gives the texts and the use of the model', async () => {
    const { envelopes, asked } = await answer([{ type: 'text', text: 'Three' }, FINISH]);
    expect(envelopes).toEqual([message('Three'), FINISHED]);
    expect(asked).toEqual([{ role: 'user', content: [{ type: 'text', text: 'How many?' }] }]);
  });

  it('gives the calls of tools with their results, and says only that a tool has failed', async () => {
    const call = { type: 'tool', id: '0', name: 'count', input: { of: 'books' } } as const;
    const good = await answer([{ ...call, execute: async () => 3n }, FINISH]);
    expect(good.envelopes.slice(0, 2)).toEqual([
      toolCall('0', 'count', { of: 'books' }),
      toolResult('0', 'The result cannot be shown: JSON cannot represent it.'),
    ]);
    const bad = await answer([{ ...call, execute: () => Promise.reject(new Error('password=1')) }, FINISH]);
    expect(bad.envelopes[1]).toEqual(
      toolResult('0', 'The tool failed. The service has logged the cause.', { isError: true }),
    );
  });

  it('shows the model the earlier turns, with ids of calls that no other run has', async () => {
    const called = [toolCall('0', 'list', {}), toolResult('0', ['a']), message('a')];
    const { asked } = await answer([FINISH], { turns: [{ question: 'Which?', answer: called }] });
    const id = expect.stringMatching(/^[A-Za-z0-9]{9}$/) as string;
    expect(asked.slice(0, -1)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Which?' }] },
      { role: 'assistant', content: '', calls: [{ id, name: 'list', input: {} }] },
      { role: 'tool', id, content: ['a'] },
      { role: 'assistant', content: 'a', calls: [] },
    ]);
  });

  it('leaves out the oldest turns beyond contextTokens, and tells so', async () => {
    const turns = [
      { question: 'x'.repeat(10_000), answer: 'a' },
      { question: 'Newer', answer: 'b' },
    ];
    const { envelopes, asked } = await answer([FINISH], { turns, contextTokens: 1_000 });
    expect(envelopes[0]).toEqual({
      type: 'log',
      data: { message: 'The model is not shown the oldest turn of the session' },
    });
    expect(asked).toHaveLength(3);
  });

  it('fails as the model has failed', async () => {
    await expect(answer([{ type: 'text', text: 'Thr' }])).rejects.toMatchObject({ code: 'interrupted' });
    const failing = fromChat(async function* () {
      yield* [];
      throw Object.assign(new Error('Too many'), { status: 429 });
    });
    await expect(collect(failing(await queryOf('Hi'), await contextOf()))).rejects.toMatchObject({
      code: 'rate_limited',
      detail: 'The model gets too many requests. Try again later.',
    });
  });
});
