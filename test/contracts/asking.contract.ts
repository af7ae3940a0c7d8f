import type { AdapterOptions } from 'nest-agent-query-adapters';
import {
  type AgentHandler,
  type Envelope,
  HandedOver,
  type Question,
  type ResolvedInput,
} from '../../src/query/index.js';
import { collect, contextOf, queryOf, type TestContext } from '../../src/testing/index.js';
import { ASKING_CASES, type AskingCase } from './adapters/asking-cases.js';
import { FakeModel, type ModelAct, type ModelStep } from './adapters/fake-model.js';
import type { AskingHarness, AskingTool } from './adapters/harness.js';

const END: ModelAct = { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } };
const says = (content: string): ModelStep => ({ acts: [{ type: 'text', text: content }, END] });
const call = (id: string, name: string, amount: number): ModelAct => {
  return { type: 'call', id, name, arguments: { amount } };
};
const calls = (...acts: ModelAct[]): ModelStep => ({ acts: [...acts, END] });

type Answer = Pick<ResolvedInput, 'outcome' | 'value'>;
type Answers = (question: Question) => Answer;

const approves: Answers = () => ({ outcome: 'answered', value: { approved: true } });
const refuses: Answers = () => ({ outcome: 'answered', value: { approved: false, reason: 'Too much.' } });

const dataOf = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);

/**
 * Checks that an adapter asks what its framework needs, and goes on with the answers.
 *
 * @param harness the adapter, with its framework and a fake model
 */
export function askingContract(harness: AskingHarness): void {
  describe(`The questions of the adapter ${harness.name}`, () => {
    let made: string[];
    let tools: AskingTool[];

    beforeEach(() => {
      made = [];
      const executed = (name: string) => (args: Record<string, unknown>) => {
        made.push(`${name} ${String(args['amount'])}`);
        return `${name} done`;
      };
      tools = [
        { name: 'refund', needsApproval: true, execute: executed('refund') },
        { name: 'lookup', needsApproval: false, execute: executed('lookup') },
        { name: 'locate', needsApproval: false, execute: undefined },
      ];
    });

    const can = (name: AskingCase, test: () => Promise<void>) => {
      const reason = harness.cannot[name];
      if (reason === undefined) it(ASKING_CASES[name], test);
      else it.skip(`${ASKING_CASES[name]}: ${reason}`, test);
    };
    const start = async (steps: ModelStep[], options: AdapterOptions = {}) => {
      const model = new FakeModel(steps);
      return { model, handler: await harness.create(model, tools, options) };
    };
    const answerOf = async (handler: AgentHandler, context: TestContext, text = 'Refund it') =>
      collect(handler.handle(await queryOf(text), context));

    can('approve', async () => {
      const { model, handler } = await start([calls(call('call-1', 'refund', 120)), says('Refunded.')]);
      const context = await answering(approves);
      const envelopes = await answerOf(handler, context);
      expect(context.questions).toEqual([
        expect.objectContaining({
          key: expect.any(String),
          kind: 'approval',
          message: expect.any(String),
          toolCallId: dataOf(envelopes, 'tool_call')[0]!['id'],
          name: 'refund',
          arguments: { amount: 120 },
        }),
      ]);
      expect(made).toEqual(['refund 120']);
      expect(dataOf(envelopes, 'tool_result')).toEqual([
        { id: dataOf(envelopes, 'tool_call')[0]!['id'], content: 'refund done' },
      ]);
      expect(dataOf(envelopes, 'message')).toEqual([expect.objectContaining({ content: 'Refunded.' })]);
      expect(model.requests.length).toBe(2);
      expect(JSON.stringify(model.newest.messages.at(-1)!.results)).toContain('refund done');
    });

    can('refuse', async () => {
      const { model, handler } = await start([calls(call('call-1', 'refund', 120)), says('I did not.')]);
      const envelopes = await answerOf(handler, await answering(refuses));
      expect(made).toEqual([]);
      expect(dataOf(envelopes, 'tool_result')).toEqual([
        { id: dataOf(envelopes, 'tool_call')[0]!['id'], content: 'Not executed. Too much.', isError: true },
      ]);
      expect(JSON.stringify(model.newest.messages.at(-1)!.results)).toContain('Too much.');
    });

    can('unanswered', async () => {
      for (const [outcome, sentence] of [
        ['declined', 'The user does not want to answer.'],
        ['expired', 'Nobody has answered in time.'],
      ] as const) {
        const { model, handler } = await start([calls(call('call-1', 'refund', 120)), says('I did not.')]);
        const envelopes = await answerOf(handler, await answering(() => ({ outcome })));
        expect(made).toEqual([]);
        expect(dataOf(envelopes, 'tool_result')).toMatchObject([
          { content: `Not executed. ${sentence}`, isError: true },
        ]);
        expect(JSON.stringify(model.newest.messages.at(-1)!.results)).toContain(sentence);
      }
    });

    can('edit', async () => {
      const { model, handler } = await start([calls(call('call-1', 'refund', 120)), says('Refunded.')]);
      const value = { approved: true, arguments: { amount: 100 } };
      const context = await answering(() => ({ outcome: 'answered', value }));
      await answerOf(handler, context);
      expect(context.questions).toMatchObject([{ arguments: { amount: 120 }, editable: true }]);
      expect(made).toEqual(['refund 100']);
      const asked = model.newest.messages.flatMap((each) => each.calls);
      expect(asked).toMatchObject([{ name: 'refund', arguments: { amount: 100 } }]);
    });

    can('several', async () => {
      const step = calls(
        call('call-1', 'refund', 1),
        call('call-2', 'lookup', 2),
        call('call-3', 'refund', 3),
      );
      const { model, handler } = await start([step, says('Both.')]);
      const context = await answering(approves);
      const envelopes = await answerOf(handler, context);
      expect(context.asked.map((keys) => keys.length)).toEqual([2]);
      expect(made.sort()).toEqual(['lookup 2', 'refund 1', 'refund 3']);
      expect(dataOf(envelopes, 'tool_result').length).toBe(3);
      expect(model.newest.messages.filter(({ role }) => role === 'user').length).toBe(1);
      const results = model.newest.messages.flatMap((each) => each.results);
      const asked = model.newest.messages.flatMap((each) => each.calls);
      expect(results.map(({ id }) => id).sort()).toEqual(asked.map(({ id }) => id).sort());
    });

    can('mixed', async () => {
      const step = calls(call('call-1', 'refund', 1), call('call-2', 'refund', 2));
      const { model, handler } = await start([step, says('One of two.')]);
      const context = await answering((question) => {
        const { amount } = question.arguments as { amount: number };
        return amount === 1 ? approves(question) : refuses(question);
      });
      const envelopes = await answerOf(handler, context);
      expect(made).toEqual(['refund 1']);
      expect(dataOf(envelopes, 'tool_result').length).toBe(2);
      expect(dataOf(envelopes, 'tool_result')).toContainEqual({
        id: expect.any(String),
        content: 'Not executed. Too much.',
        isError: true,
      });
      expect(model.newest.messages.flatMap((each) => each.results).length).toBe(2);
    });

    // Some models number their calls from the beginning in each step.
    for (const [name, id] of [
      ['again', 'call-2'],
      ['sameId', 'call-1'],
    ] as const)
      can(name, () => asksTwice(id));

    const asksTwice = async (id: string) => {
      const steps = [calls(call('call-1', 'refund', 1)), calls(call(id, 'refund', 2)), says('Twice.')];
      const { handler } = await start(steps);
      const context = await answering(approves);
      const envelopes = await answerOf(handler, context);
      expect(made).toEqual(['refund 1', 'refund 2']);
      expect(context.asked.map((keys) => keys.length)).toEqual([1, 1]);
      expect(new Set(context.asked.flat()).size).toBe(2);
      expect(dataOf(envelopes, 'message')).toEqual([expect.objectContaining({ content: 'Twice.' })]);
    };

    can('restart', async () => {
      const step = calls(call('call-1', 'refund', 1), call('call-2', 'lookup', 2));
      const first = await start([step]);
      const parked = await answering(approves, 'park');
      const before = await answerOf(first.handler, parked);
      expect(made).not.toContain('refund 1');
      expect(parked.signal.aborted).toBe(true);

      const second = await start([says('Refunded.')]);
      const resumed = { attempt: 2, state: parked.checkpoints.at(-1) };
      const context = await answering(approves, { resumed });
      const after = await answerOf(second.handler, context);
      expect(context.asked).toEqual(parked.asked);
      expect(made.sort()).toEqual(['lookup 2', 'refund 1']);
      expect(second.model.requests.length).toBe(1);
      expect(dataOf(before, 'tool_call').length).toBe(2);
      expect(dataOf(after, 'tool_call')).toEqual([]);
      const shown = [...before, ...after];
      expect(dataOf(shown, 'tool_result').map(({ content }) => content)).toHaveLength(2);
      expect(dataOf(after, 'tool_result')).toContainEqual({ id: 'call-1', content: 'refund done' });
      const { messages } = second.model.newest;
      expect(messages.filter(({ role }) => role === 'user').length).toBe(1);
      expect(messages.flatMap((each) => each.results).length).toBe(2);
    });

    can('crash', async () => {
      const refund = calls(call('call-1', 'refund', 120));
      const first = await start([refund, { acts: [], then: 'hold' }]);
      const lost = await answering(approves);
      const iterable = (await first.handler.handle(
        await queryOf('Refund it'),
        lost,
      )) as AsyncIterable<Envelope>;
      const iterator = iterable[Symbol.asyncIterator]();
      let read = await iterator.next();
      while (read.value?.type !== 'tool_result') read = await iterator.next();
      const rest = (async () => {
        while ((await iterator.next()).done !== true);
      })();
      await lost.stores(2);
      lost.abort(new HandedOver());
      await rest;
      expect(made).toEqual(['refund 120']);

      const second = await start([says('Refunded.')]);
      const resumed = { attempt: 2, state: lost.checkpoints.at(-1) };
      const after = await answerOf(second.handler, await answering(approves, { resumed }));
      expect(made).toEqual(['refund 120']);
      expect(dataOf(after, 'tool_result')).toEqual([]);
      expect(JSON.stringify(second.model.newest.messages.at(-1)!.results)).toContain('refund done');
    });

    can('callerTool', async () => {
      const located = (content: unknown, isError: boolean): Answers => {
        return () => ({ outcome: 'answered', value: { content, ...(isError && { isError }) } });
      };
      const steps = [calls(call('call-1', 'locate', 1)), calls(call('call-1', 'locate', 2)), says('Paris.')];
      const { model, handler } = await start(steps);
      const context = await answering((question) =>
        (question.arguments as { amount: number }).amount === 1
          ? located({ city: 'Paris' }, false)(question)
          : located('No signal.', true)(question),
      );
      const envelopes = await answerOf(handler, context);
      const [{ id }] = dataOf(envelopes, 'tool_call') as [{ id: string }];
      expect(context.questions).toMatchObject([
        { key: id, kind: 'tool', toolCallId: id, name: 'locate', arguments: { amount: 1 } },
        { kind: 'tool', name: 'locate', arguments: { amount: 2 } },
      ]);
      expect(context.questions[0]!.key).not.toBe(context.questions[1]!.key);
      expect(dataOf(envelopes, 'tool_result')).toEqual([
        { id, content: { city: 'Paris' } },
        { id: expect.any(String), content: 'No signal.', isError: true },
      ]);
      const results = JSON.stringify(model.newest.messages.flatMap((each) => each.results));
      expect(results).toContain('Paris');
      expect(results).toContain('No signal.');

      const alone = await start([calls(call('call-1', 'locate', 1)), says('Unknown.')]);
      const silent = await answerOf(alone.handler, await answering(() => ({ outcome: 'expired' })));
      expect(dataOf(silent, 'tool_result')).toMatchObject([
        { content: 'Not executed. Nobody has answered in time.', isError: true },
      ]);
    });

    can('superseded', async () => {
      const { model, handler } = await start([says('Nothing was refunded.')]);
      const request = (id: string, amount: number) => ({
        id: `request-${id}`,
        kind: 'approval',
        message: 'May I?',
        toolCallId: id,
        name: 'refund',
        arguments: { amount },
      });
      const toolCall = (id: string, amount: number) => {
        return { type: 'tool_call', data: { id, name: 'refund', arguments: { amount } } };
      };
      const at = '2000-01-01T00:00:00.000Z';
      const changed = { approved: true, arguments: { amount: 7 } };
      const history = await contextOf({
        sessionId: 'a',
        turns: [
          {
            question: 'Refund two',
            answer: [
              toolCall('call-1', 1),
              toolCall('call-2', 2),
              { type: 'input_required', data: { requests: [request('call-1', 1), request('call-2', 2)] } },
              {
                type: 'input_resolved',
                data: {
                  answers: [
                    { id: 'request-call-1', outcome: 'answered', value: changed, by: 'ann', at },
                    { id: 'request-call-2', outcome: 'superseded', by: null, at },
                  ],
                },
              },
              { type: 'tool_result', data: { id: 'call-1', content: 'refund done' } },
              { type: 'tool_result', data: { id: 'call-2', content: 'Not executed: late.', isError: true } },
            ],
            end: { status: 'cancelled' },
          },
        ],
      });
      await answerOf(handler, history, 'What has happened?');
      const { messages } = model.newest;
      const asked = messages.flatMap((each) => each.calls);
      const results = messages.flatMap((each) => each.results);
      expect(asked).toMatchObject([{ arguments: { amount: 7 } }, { arguments: { amount: 2 } }]);
      expect(results.map(({ id }) => id)).toEqual(asked.map(({ id }) => id));
      expect(JSON.stringify(results[1])).toContain('Not executed: late.');
    });
  });
}

interface AskingContext extends TestContext {
  /** The keys of each pause. */
  asked: string[][];
  /** Resolves when so many states are stored. */
  stores(count: number): Promise<void>;
}

/**
 * A context whose questions are answered in a way, as the service does it.
 *
 * @param input what else the context has; or `park`: nobody answers, and the run goes on in another attempt
 */
async function answering(
  answers: Answers,
  input: Parameters<typeof contextOf>[0] | 'park' = {},
): Promise<AskingContext> {
  const context = await contextOf(input === 'park' ? {} : input);
  const asked: string[][] = [];
  const waiting: (() => void)[] = [];
  const checkpoint = context.checkpoint.bind(context);
  return Object.assign(context, {
    asked,
    checkpoint: async (state: unknown) => {
      await checkpoint(state);
      for (const wake of waiting.splice(0)) wake();
    },
    stores: async (count: number) => {
      while (context.checkpoints.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    ask: async (questions: Question[], options: { checkpoint?: unknown } = {}) => {
      context.questions.push(...questions);
      asked.push(questions.map(({ key }) => key));
      if (options.checkpoint !== undefined) await context.checkpoint(options.checkpoint);
      if (input === 'park') {
        context.abort(new HandedOver());
        throw context.signal.reason;
      }
      const at = '2000-01-01T00:00:00.000Z';
      return questions.map((question) => ({ id: question.key, by: 'ann', at, ...answers(question) }));
    },
  });
}
