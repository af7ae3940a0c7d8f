import { Agent, handoff, MemorySession, type RunContext, Runner, tool } from '@openai/agents';
import { answering, parking } from '../../../test/contracts/adapters/asking.js';
import { FakeModel, type ModelAct, type ModelStep } from '../../../test/contracts/adapters/fake-model.js';
import { FakeFrameworkModel } from './harness.js';
import type { AgentHandler, Envelope, Question } from 'nest-agent-query';
import { collect, contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import { fromOpenAIAgents, type OpenAIAgentsOptions } from '../src/index.js';

const END: ModelAct = { type: 'end', usage: { inputTokens: 2, outputTokens: 1 } };
const YES = { approved: true };
const runner = new Runner({ tracingDisabled: true });

const says = (text: string): ModelStep => ({ acts: [{ type: 'text', text }, END] });
const calls = (name: string, id: string, args = {}): ModelStep => ({
  acts: [{ type: 'call', id, name, arguments: args }, END],
});
const ofType = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);
const textOf = (envelopes: Envelope[]) =>
  ofType(envelopes, 'message')
    .map(({ content }) => content)
    .join('');

describe('An agent of OpenAI Agents that asks', () => {
  let paid: unknown[];
  let contexts: unknown[];
  beforeEach(() => {
    paid = [];
    contexts = [];
  });

  const pay = () =>
    tool({
      name: 'pay',
      description: 'pay',
      strict: false,
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
      needsApproval: true,
      execute: (input, context: RunContext<unknown> | undefined) => {
        paid.push(input);
        contexts.push(context?.context);
        return 'paid';
      },
    });
  const agentOf = (
    steps: ModelStep[],
    settings: Partial<ConstructorParameters<typeof Agent>[0]> = {},
    options: OpenAIAgentsOptions = {},
  ) => {
    const model = new FakeModel(steps);
    const agent = new Agent({
      name: 'Main',
      tools: [pay()],
      ...settings,
      model: new FakeFrameworkModel(model),
    });
    return { agent, model, handler: fromOpenAIAgents(agent, { runner, ...options }) };
  };
  const answer = async (handler: AgentHandler, context: TestContext, question = 'Pay') =>
    collect(handler.handle(await queryOf(question), context));
  const resumedOf = ({ checkpoints }: TestContext) => ({ attempt: 2, state: checkpoints.at(-1) });

  it('asks only about the calls about which its host says nothing', async () => {
    const steps = [
      { acts: [...calls('pay', 'a', { sum: 1 }).acts.slice(0, 1), ...calls('pay', 'b', { sum: 9 }).acts] },
      says('Done'),
    ];
    const approve: OpenAIAgentsOptions['approve'] = ({ arguments: args }) =>
      (args as { sum: number }).sum < 5 ? true : undefined;
    const { handler } = agentOf(steps, {}, { approve });
    const context = answering(await contextOf(), () => YES);
    await answer(handler, context);
    expect(context.questions).toEqual([
      {
        key: 'b',
        kind: 'approval',
        message: 'May the agent call the tool "pay"?',
        toolCallId: 'b',
        name: 'pay',
        arguments: { sum: 9 },
      },
    ]);
    expect(paid).toEqual([{ sum: 1 }, { sum: 9 }]);
  });

  it('keeps neither the context of tools nor files while it asks, and has both again', async () => {
    const picture = { name: 'a.png', mimeType: 'image/png', content: Buffer.alloc(900_000, 7) };
    const query = await queryOf(['Pay this', picture]);
    class Secrets {
      readonly token = 'secret-token';
      readonly self = this;
    }
    const options = { context: () => new Secrets() };
    const first = agentOf([calls('pay', 'a')], {}, options);
    const parked = parking(await contextOf());
    await collect(first.handler.handle(query, parked));
    const state = JSON.stringify(parked.checkpoints.at(-1));
    expect(state.length).toBeLessThan(20_000);
    expect(state).not.toContain('secret-token');

    const second = agentOf([says('Done')], {}, options);
    const context = answering(await contextOf({ resumed: resumedOf(parked) }), () => YES);
    expect(textOf(await collect(second.handler.handle(query, context)))).toBe('Done');
    expect(contexts).toEqual([expect.any(Secrets)]);
    const [question] = second.model.newest.messages;
    expect(picture.content.equals(question!.files[0]!.bytes)).toBe(true);
  });

  it('has each message once in its memory after a restart', async () => {
    const memory = new MemorySession({ sessionId: 's' });
    const options = { session: () => memory };
    const parked = parking(await contextOf({ sessionId: 's' }));
    await answer(agentOf([calls('pay', 'a')], {}, options).handler, parked);
    const { model, handler } = agentOf([says('Done'), says('Again')], {}, options);
    const resumed = await contextOf({ sessionId: 's', resumed: resumedOf(parked) });
    await answer(
      handler,
      answering(resumed, () => YES),
    );
    await answer(handler, await contextOf({ sessionId: 's', runId: 'run-2' }), 'And?');
    expect(model.newest.messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'Pay'],
      ['assistant', ''],
      ['tool', ''],
      ['assistant', 'Done'],
      ['user', 'And?'],
    ]);
  });

  it('goes on with its memory where nobody has answered', async () => {
    const memory = new MemorySession({ sessionId: 's' });
    const { model, handler } = agentOf([calls('pay', 'a'), says('Hello')], {}, { session: () => memory });
    await answer(handler, parking(await contextOf({ sessionId: 's' })));
    const context = await contextOf({ sessionId: 's', runId: 'run-2' });
    expect(textOf(await answer(handler, context, 'Never mind'))).toBe('Hello');
    expect(model.newest.messages.flatMap((message) => message.calls)).toEqual([]);
  });

  it('asks with the agent that it was handed over to, also after restarts', async () => {
    const agentsOf = (mainSteps: ModelStep[], expertSteps: ModelStep[]) => {
      const expert = agentOf(expertSteps, { name: 'Expert' });
      const main = agentOf(mainSteps, { handoffs: [handoff(expert.agent)] });
      return { expert, main };
    };
    const first = agentsOf([calls('transfer_to_Expert', 'h')], [calls('pay', 'a')]);
    const parked = parking(await contextOf());
    await answer(first.main.handler, parked);
    // The next attempt asks again in its own second step.
    const second = agentsOf([], [calls('pay', 'b')]);
    const again = parking(
      answering(await contextOf({ resumed: resumedOf(parked) }), () => YES),
      'b',
    );
    await answer(second.main.handler, again);
    expect(paid).toHaveLength(1);
    const third = agentsOf([], [says('I am the expert.')]);
    const context = answering(await contextOf({ resumed: resumedOf(again) }), () => YES);
    expect(textOf(await answer(third.main.handler, context))).toBe('I am the expert.');
    expect(context.questions.map(({ key }) => key)).toEqual(['b']);
    expect(paid).toHaveLength(2);
  });

  it('asks about the call of an agent that is a tool', async () => {
    const agentsOf = (mainSteps: ModelStep[], innerSteps: ModelStep[]) => {
      const inner = agentOf(innerSteps, { name: 'Inner' });
      const tools = [inner.agent.asTool({ toolName: 'inner', toolDescription: 'inner' })];
      const context = () => ({ token: 'secret-token' });
      return { inner, main: agentOf(mainSteps, { tools }, { context }) };
    };
    const first = agentsOf([calls('inner', 'i', { input: 'x' })], [calls('pay', 'a')]);
    const parked = parking(await contextOf());
    await answer(first.main.handler, parked);
    expect(parked.questions.map(({ key, name, toolCallId }) => [key, name, toolCallId])).toEqual([
      ['a', 'pay', undefined],
    ]);
    expect(JSON.stringify(parked.checkpoints)).not.toContain('secret-token');
    const second = agentsOf([says('It is paid.')], [says('Paid')]);
    const context = answering(await contextOf({ resumed: resumedOf(parked) }), () => YES);
    expect(textOf(await answer(second.main.handler, context))).toBe('It is paid.');
    expect(paid).toHaveLength(1);
    expect(contexts).toEqual([{ token: 'secret-token' }]);
  });

  it('asks anew where a model uses the id of a call again', async () => {
    const two = { ...pay(), name: 'two' };
    const { handler } = agentOf([calls('pay', 'call_0'), calls('two', 'call_0'), says('Done')], {
      tools: [pay(), two],
    });
    const asked: Question[] = [];
    const context = answering(await contextOf(), (question) => {
      asked.push(question);
      return { approved: asked.length === 1 };
    });
    await answer(handler, context);
    expect(asked.map(({ key, name }) => [key, name])).toEqual([
      ['call_0', 'pay'],
      ['call_0:2', 'two'],
    ]);
    expect(paid).toHaveLength(1);
  });
});
