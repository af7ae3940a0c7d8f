import type { AgentHandler, Envelope, QueryContext } from '../../src/query/index.js';
import { collect, contextOf, queryOf } from '../../src/testing/index.js';
import { answering, parking } from './adapters/asking.js';
import type { AdapterCase } from './adapters/cases.js';
import { FakeModel, type ModelStep } from './adapters/fake-model.js';
import type { AdapterHarness } from './adapters/harness.js';

const END = { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } } as const;
const YES = { approved: true };

const says = (text: string): ModelStep => ({ acts: [{ type: 'text', text }, END] });
const calls = (...cities: string[]): ModelStep => ({
  acts: [
    ...cities.map(
      (city) => ({ type: 'call', id: `call-${city}`, name: 'book', arguments: { city } }) as const,
    ),
    END,
  ],
});
const typesOf = (envelopes: Envelope[]) =>
  envelopes.map(({ type }) => type).filter((type) => !['usage', 'log'].includes(type));
const dataOf = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);

/**
 * Checks that an adapter lets people approve calls of tools.
 *
 * @param can declares the test of a case, if the adapter can do it
 */
export function askingContract(
  harness: AdapterHarness,
  can: (name: AdapterCase, test: () => Promise<void>) => void,
): void {
  let booked: unknown[];
  beforeEach(() => (booked = []));

  const start = async (...steps: ModelStep[]) => {
    const model = new FakeModel(steps);
    const execute = (args: unknown) => {
      booked.push(args);
      return { booked: true };
    };
    return { model, handler: await harness.create(model, [{ name: 'book', execute, needsApproval: true }]) };
  };
  const answer = async (handler: AgentHandler, context: QueryContext) =>
    collect(handler.handle(await queryOf('Book'), context));

  can('approve', async () => {
    const { model, handler } = await start(calls('Paris'), says('Booked.'));
    const context = answering(await contextOf(), () => {
      expect(booked).toEqual([]);
      return YES;
    });
    const envelopes = await answer(handler, context);
    expect(typesOf(envelopes)).toEqual(['tool_call', 'tool_result', 'message']);
    const [call] = dataOf(envelopes, 'tool_call');
    expect(context.questions).toEqual([
      expect.objectContaining({
        kind: 'approval',
        toolCallId: call!['id'],
        name: 'book',
        arguments: { city: 'Paris' },
      }),
    ]);
    expect(booked).toEqual([{ city: 'Paris' }]);
    expect(dataOf(envelopes, 'tool_result')[0]!['id']).toBe(call!['id']);
    expect(model.requests).toHaveLength(2);
  });

  can('refuse', async () => {
    const { model, handler } = await start(calls('Paris'), says('A pity.'), calls('Rome'), says('Why not?'));
    const refused = answering(await contextOf(), () => ({ approved: false, reason: 'Too expensive.' }));
    const envelopes = await answer(handler, refused);
    expect(typesOf(envelopes)).toEqual(['tool_call', 'tool_result', 'message']);
    expect(dataOf(envelopes, 'tool_result')).toEqual([
      { id: expect.any(String), content: expect.stringContaining('Too expensive.'), isError: true },
    ]);
    expect(JSON.stringify(model.newest.messages)).toContain('Too expensive.');
    const declined = await answer(handler, await contextOf({ runId: 'run-2' }));
    expect(dataOf(declined, 'tool_result')).toEqual([
      { id: expect.any(String), content: expect.stringContaining('does not want to answer'), isError: true },
    ]);
    expect(booked).toEqual([]);
  });

  can('edit', async () => {
    const { model, handler } = await start(calls('Paris'), says('Booked.'));
    const context = answering(await contextOf(), () => ({ ...YES, arguments: { city: 'Rome' } }));
    const envelopes = await answer(handler, context);
    expect(context.questions[0]!.editable).toBe(true);
    expect(typesOf(envelopes)).toEqual(['tool_call', 'tool_result', 'message']);
    expect(booked).toEqual([{ city: 'Rome' }]);
    expect(model.requests).toHaveLength(2);
  });

  can('several', async () => {
    const { model, handler } = await start(calls('Paris', 'Rome'), says('Booked.'));
    const context = answering(await contextOf(), () => YES);
    const envelopes = await answer(handler, context);
    expect(context.questions.map(({ arguments: args }) => args)).toEqual([
      { city: 'Paris' },
      { city: 'Rome' },
    ]);
    expect(new Set(context.questions.map(({ key }) => key)).size).toBe(2);
    expect(context.pauses).toBe(1);
    expect(typesOf(envelopes).slice(0, 2)).toEqual(['tool_call', 'tool_call']);
    expect(dataOf(envelopes, 'tool_result')).toHaveLength(2);
    expect(booked).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
    expect(model.requests).toHaveLength(2);
    const { messages } = model.newest;
    expect(messages.filter(({ role }) => role === 'user').map(({ text }) => text)).toEqual(['Book']);
    expect(messages.flatMap(({ results }) => results)).toHaveLength(2);
  });

  can('askRestart', async () => {
    const first = await start(calls('Paris'));
    const parked = parking(await contextOf({ sessionId: 'a' }));
    const before = await answer(first.handler, parked);
    expect(typesOf(before)).toEqual(['tool_call']);
    const second = await start(says('Booked.'));
    const resumed = { attempt: 2, state: parked.checkpoints.at(-1) };
    const context = answering(await contextOf({ sessionId: 'a', resumed }), () => {
      expect([booked, second.model.requests]).toEqual([[], []]);
      return YES;
    });
    const after = await answer(second.handler, context);
    expect(context.questions).toEqual(parked.questions);
    expect(typesOf(after)).toEqual(['tool_result', 'message']);
    expect(dataOf(after, 'tool_result')[0]!['id']).toBe(dataOf(before, 'tool_call')[0]!['id']);
    expect(booked).toEqual([{ city: 'Paris' }]);
    const { messages } = second.model.newest;
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1);
    expect(messages.at(-1)!.results).toHaveLength(1);
  });
}
