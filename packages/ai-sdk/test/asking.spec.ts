import { hasToolCall, type ModelMessage, stepCountIs, tool, type ToolSet } from 'ai';
import { z } from 'zod';
import type { Envelope, Question } from 'nest-agent-query';
import { collect, type ContextInput, contextOf, queryOf } from 'nest-agent-query/testing';
import { FakeModel, type ModelAct, type ModelStep } from '../../../test/contracts/adapters/fake-model.js';
import { fromAiSdk, type AiSdkOptions } from '../src/index.js';
import { openCalls } from '../src/open-calls.js';
import { modelOf } from './harness.js';

const END: ModelAct = { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } };
const says = (content: string): ModelStep => ({ acts: [{ type: 'text', text: content }, END] });
const calls = (...names: string[]): ModelStep => ({
  acts: [...names.map((name, index) => call(`call-${index + 1}`, name)), END],
});
const call = (id: string, name: string): ModelAct => ({
  type: 'call',
  id,
  name,
  arguments: { amount: '120' },
});

const resultsOf = (envelopes: Envelope[]) =>
  envelopes.filter(({ type }) => type === 'tool_result').map(({ data }) => data);
const logsOf = (envelopes: Envelope[]) =>
  envelopes.filter(({ type }) => type === 'log').map(({ data }) => (data as { message: string }).message);

describe('What an agent of the AI SDK asks', () => {
  let made: unknown[];
  const execute = async (args: unknown) => {
    made.push(args);
    return 'done';
  };
  const inputSchema = z.object({ amount: z.string() });

  beforeEach(() => (made = []));

  async function answer(
    steps: ModelStep[],
    tools: ToolSet,
    value: (question: Question) => unknown,
    more: { options?: Partial<AiSdkOptions>; resumed?: ContextInput['resumed'] } = {},
  ) {
    const model = new FakeModel(steps);
    const handler = fromAiSdk({ model: modelOf(model), tools, maxRetries: 0, ...more.options });
    const context = await contextOf({ resumed: more.resumed });
    const asked: string[][] = [];
    Object.assign(context, {
      ask: async (questions: Question[], { checkpoint }: { checkpoint: unknown }) => {
        context.questions.push(...questions);
        asked.push(questions.map(({ kind, name }) => `${kind} ${name}`));
        await context.checkpoint(checkpoint);
        const by = { by: 'ann', at: '2000-01-01T00:00:00.000Z' };
        return questions.map((each) => ({ id: each.key, outcome: 'answered', value: value(each), ...by }));
      },
    });
    const envelopes = await collect(handler.handle(await queryOf('Go'), context));
    return { model, context, envelopes, asked };
  }
  const approved = () => ({ approved: true });

  it('keeps the signatures of calls, which then cannot be changed', async () => {
    const refund = tool({ inputSchema, needsApproval: true, execute });
    const options = { experimental_toolApprovalSecret: 'secret' };
    const first = await answer([calls('refund'), says('Done.')], { refund }, approved, { options });
    expect(first.context.questions[0]).not.toHaveProperty('editable');
    expect(made).toEqual([{ amount: '120' }]);
    const resumed = { attempt: 2, state: first.context.checkpoints[0] };
    await answer([says('Done.')], { refund }, approved, { options, resumed });
    expect(made).toEqual([{ amount: '120' }, { amount: '120' }]);
  });

  it('lets nobody change a call whose approval depends on its arguments', async () => {
    const refund = tool({ inputSchema, needsApproval: ({ amount }) => Number(amount) > 100, execute });
    const { context } = await answer([calls('refund'), says('Done.')], { refund }, approved);
    expect(context.questions).toMatchObject([{ name: 'refund' }]);
    expect(context.questions[0]).not.toHaveProperty('editable');
    expect(made).toEqual([{ amount: '120' }]);
  });

  it('shows and executes what the schema of a tool makes of the arguments', async () => {
    const refund = tool({
      inputSchema: z.object({ amount: z.string().transform(Number) }),
      needsApproval: true,
      execute,
    });
    const first = await answer([calls('refund'), says('Done.')], { refund }, approved);
    expect(first.context.questions).toMatchObject([{ arguments: { amount: 120 } }]);
    const changed = { approved: true, arguments: { amount: '100' } };
    await answer([calls('refund'), says('Done.')], { refund }, () => changed);
    expect(made).toEqual([{ amount: 120 }, { amount: 100 }]);
  });

  it('takes changed arguments that are not valid as a refusal', async () => {
    const refund = tool({ inputSchema, needsApproval: true, execute });
    const changed = { approved: true, arguments: { amount: 100 } };
    const { envelopes } = await answer([calls('refund'), says('No.')], { refund }, () => changed);
    expect(made).toEqual([]);
    expect(resultsOf(envelopes)).toEqual([
      {
        id: 'call-1',
        content: 'Not executed. The tool does not take the arguments of the approval.',
        isError: true,
      },
    ]);
  });

  it('asks the caller to execute a call only after its approval', async () => {
    const tools = {
      refund: tool({ inputSchema, needsApproval: true, execute }),
      open: tool({ inputSchema, needsApproval: true }),
    } as ToolSet;
    const value = ({ kind, name }: Question) => {
      if (kind === 'tool') return { content: { isOpen: true } };
      return name === 'open' ? { approved: true } : { approved: false, reason: 'No.' };
    };
    const steps = [calls('refund', 'open'), says('Open.')];
    const { envelopes, asked, model, context } = await answer(steps, tools, value);
    expect(asked).toEqual([['approval refund', 'approval open'], ['tool open']]);
    expect(made).toEqual([]);
    const results = [
      { id: 'call-2', content: { isOpen: true } },
      { id: 'call-1', content: 'Not executed. No.', isError: true },
    ];
    expect(resultsOf(envelopes)).toEqual(results);
    expect(
      model.newest.messages
        .at(-1)!
        .results.map(({ id }) => id)
        .sort(),
    ).toEqual(['call-1', 'call-2']);

    const resumed = { attempt: 2, state: context.checkpoints[1] };
    const again = await answer([says('Open.')], tools, value, { resumed });
    expect(again.asked).toEqual([['tool open']]);
    expect(resultsOf(again.envelopes)).toEqual(results);
  });

  it('gives the model what toModelOutput makes of a result of the caller', async () => {
    const toModelOutput = () => ({ type: 'text' as const, value: 'somewhere' });
    const locate = tool({ inputSchema, toModelOutput, outputSchema: z.unknown() });
    const located = () => ({ content: { city: 'Paris' } });
    const { model } = await answer([calls('locate'), says('Hm.')], { locate }, located);
    expect(model.newest.messages.at(-1)!.results).toEqual([
      { id: 'call-1', content: { type: 'text', value: 'somewhere' } },
    ]);
  });

  it('asks nothing after the last step that stopWhen allows, and counts the steps before questions', async () => {
    const tools = { locate: tool({ inputSchema }), done: tool({ inputSchema }) } as ToolSet;
    const value = () => ({ content: 'Paris' });
    const two = { stopWhen: stepCountIs(2) };
    const counted = await answer([calls('locate'), calls('locate')], tools, value, { options: two });
    expect(counted.asked).toEqual([['tool locate']]);
    expect(logsOf(counted.envelopes)).toEqual([
      'The answer ends here because the agent may take no more steps',
    ]);
    const ended = await answer([calls('done')], tools, value, { options: { stopWhen: hasToolCall('done') } });
    expect(ended.asked).toEqual([]);

    const resumed = { attempt: 2, state: counted.context.checkpoints[0] };
    const again = await answer([calls('locate')], tools, value, { options: two, resumed });
    expect(again.asked).toEqual([['tool locate']]);
    expect(again.model.requests.length).toBe(1);
  });

  it('fails where a stop condition throws', async () => {
    const stopWhen = () => {
      throw new Error('No limit.');
    };
    const locate = tool({ inputSchema }) as ToolSet[string];
    const answered = answer([calls('locate')], { locate }, approved, { options: { stopWhen } });
    await expect(answered).rejects.toThrow('No limit.');
  });

  it.each(['onStepFinish', 'onStepEnd'])('asks also where %s of the host throws', async (name) => {
    const callback = () => {
      throw new Error('Broken.');
    };
    const locate = tool({ inputSchema }) as ToolSet[string];
    const options = { [name]: callback };
    const { asked } = await answer([calls('locate'), says('Hm.')], { locate }, () => ({ content: 1 }), {
      options,
    });
    expect(asked).toEqual([['tool locate']]);
  });

  it('makes a key of an id that is too long for one', async () => {
    const locate = tool({ inputSchema }) as ToolSet[string];
    const step = { acts: [call('x'.repeat(300), 'locate'), END] };
    const { context } = await answer([step, says('Hm.')], { locate }, () => ({ content: 1 }));
    expect(context.questions).toMatchObject([{ toolCallId: 'x'.repeat(300) }]);
    expect(context.questions[0]!.key).toMatch(/^[A-Za-z0-9]{9}$/);
  });
});

describe('The open calls of messages', () => {
  const said = (...more: object[]): ModelMessage[] => [
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'refund', input: {} }, ...(more as [])],
    },
  ];
  const request = { type: 'tool-approval-request', approvalId: 'r', toolCallId: 'a' };

  it('has the reason that version 7 gives as the message', () => {
    const [open] = openCalls(said({ ...request, reason: 'Much money.' }), {});
    expect(open!.question).toMatchObject({ key: 'r', kind: 'approval', message: 'Much money.' });
  });

  it.each([
    ['a request that the SDK has decided itself', said({ ...request, isAutomatic: true }), {}],
    ['a call of a tool that is not known', said(), {}],
    ['a text', [{ role: 'assistant', content: 'Hi' }] as ModelMessage[], {}],
    ['nothing', [], {}],
  ])('are none for %s', (_, messages, tools) => {
    expect(openCalls(messages, tools)).toEqual([]);
  });
});
