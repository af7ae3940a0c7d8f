import { jest } from '@jest/globals';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { answering, parking } from '../../../test/contracts/adapters/asking.js';
import { FakeModel, type ModelAct, type ModelStep } from '../../../test/contracts/adapters/fake-model.js';
import { mastraAgent, mastraTool, withStorage, WITHOUT_RETRIES } from './harness.js';
import { TestMemory } from './memory.js';
import type { AgentHandler, Envelope, Question } from 'nest-agent-query';
import { HandedOver } from 'nest-agent-query/agents';
import { collect, contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import { fromMastra } from '../src/index.js';
import { openCallOf, questionOf } from '../src/open-calls.js';

const END: ModelAct = { type: 'end', usage: { inputTokens: 2, outputTokens: 1 } };
const YES = { approved: true };
const says = (text: string): ModelStep => ({ acts: [{ type: 'text', text }, END] });
const calls = (...names: string[]): ModelStep => ({
  acts: [
    ...names.map((name) => ({ type: 'call', id: `call-${name}`, name, arguments: { name } }) as const),
    END,
  ],
});
const ofType = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);
const textOf = (envelopes: Envelope[]) =>
  ofType(envelopes, 'message')
    .map(({ content }) => content)
    .join('');
const resultsOf = (envelopes: Envelope[]) =>
  Object.fromEntries(ofType(envelopes, 'tool_result').map(({ id, content }) => [id, content])) as object;
const usersOf = (model: FakeModel) =>
  model.newest.messages.filter(({ role }) => role === 'user').map(({ text }) => text);

describe('An agent of Mastra that asks', () => {
  let done: unknown[];
  beforeEach(() => {
    done = [];
    // The framework writes errors to the console.
    jest.spyOn(console, 'error').mockImplementation(() => undefined);
  });
  afterEach(() => jest.restoreAllMocks());

  const pay = (name: string) =>
    mastraTool({ name, needsApproval: true, execute: () => done.push(name) && { paid: name } });
  /** A tool that asks as often as there are questions. */
  const choose = (...questions: unknown[]) =>
    createTool({
      id: 'choose',
      description: 'choose',
      inputSchema: z.record(z.string(), z.unknown()),
      execute: async (_input, options) => {
        const { resumeData, suspend } = options as unknown as {
          resumeData?: unknown;
          suspend: (payload: unknown) => Promise<unknown>;
        };
        if (resumeData !== undefined) done.push(resumeData);
        if (done.length < questions.length) return suspend(questions[done.length]);
        return { chosen: done };
      },
    });
  const agentOf = (steps: ModelStep[], config: object = {}) => {
    const model = new FakeModel(steps);
    const tools = { a: pay('a'), b: pay('b'), choose: choose('Which city?') };
    const agent = withStorage(mastraAgent(model, [], { tools, ...config }));
    return { agent, model, handler: fromMastra(agent, { stream: () => WITHOUT_RETRIES }) };
  };
  const ask = async (handler: AgentHandler, context: TestContext, text = 'Do it') =>
    collect(handler.handle(await queryOf(text), context));
  const resumedOf = ({ checkpoints }: TestContext) => ({ attempt: 2, state: checkpoints.at(-1) });

  it('asks for the input of a tool that is suspended', async () => {
    const { model, handler } = agentOf([calls('choose'), says('Done')]);
    const context = answering(await contextOf(), () => ({ city: 'Paris' }));
    const envelopes = await ask(handler, context);
    expect(context.questions).toEqual([
      { key: 'call-choose', kind: 'input', message: 'Which city?', toolCallId: 'call-choose', schema: true },
    ]);
    expect(resultsOf(envelopes)).toEqual({ 'call-choose': { chosen: [{ city: 'Paris' }] } });
    expect(usersOf(model)).toEqual(['Do it']);
  });

  it('asks again where the tool is suspended again, with another key', async () => {
    const tools = { choose: choose({ message: 'One?' }, { two: 2 }) };
    const { model, handler } = agentOf([calls('choose'), says('Done')], { tools });
    const context = answering(await contextOf(), ({ key }) => key);
    const envelopes = await ask(handler, context);
    expect(context.questions.map(({ key, message }) => [key, message])).toEqual([
      ['call-choose', 'One?'],
      ['call-choose:2', '{"two":2}'],
    ]);
    expect(resultsOf(envelopes)).toEqual({
      'call-choose': { chosen: ['call-choose', 'call-choose:2'] },
    });
    expect(usersOf(model)).toEqual(['Do it']);
    expect(textOf(envelopes)).toBe('Done');
  });

  it('does not go on with a tool whose input nobody gives, and tells the model', async () => {
    const { model, handler } = agentOf([calls('choose', 'a'), says('A pity')]);
    const context = answering(await contextOf(), ({ kind }) => (kind === 'approval' ? YES : undefined));
    const envelopes = await ask(handler, context);
    expect(done).toEqual([]);
    expect(resultsOf(envelopes)).toEqual({
      'call-choose': 'Not executed. The user does not want to answer.',
      'call-a': 'Not executed. Another call of this step has got no input.',
    });
    expect(model.newest.messages.map(({ role }) => role).slice(1)).toEqual(['user', 'assistant', 'tool']);
    expect(textOf(envelopes)).toBe('A pity');
  });

  it('approves some calls, and refuses others at once', async () => {
    const { model, handler } = agentOf([calls('a', 'b'), says('Done')]);
    const context = answering(await contextOf(), ({ name }) => ({ approved: name === 'a', reason: 'No.' }));
    const envelopes = await ask(handler, context);
    expect(done).toEqual(['a']);
    expect(resultsOf(envelopes)).toEqual({ 'call-a': { paid: 'a' }, 'call-b': 'Not executed. No.' });
    expect(usersOf(model)).toEqual(['Do it']);
    expect(JSON.stringify(model.newest.messages)).toContain('Not executed. No.');
  });

  it('makes only the calls that an earlier attempt has not made', async () => {
    const { agent, handler } = agentOf([calls('a', 'b'), says('Done')]);
    const parked = parking(await contextOf());
    await ask(handler, parked);
    const { mastraRunId } = (parked.checkpoints.at(-1) as { pause: { mastraRunId: string } }).pause;
    const stream = await agent.approveToolCall({ runId: mastraRunId, toolCallId: 'call-a' });
    const chunks = stream.fullStream[Symbol.asyncIterator]();
    while ((await chunks.next()).done !== true);
    const context = answering(await contextOf({ resumed: resumedOf(parked) }), () => YES);
    const envelopes = await ask(handler, context);
    expect(done).toEqual(['a', 'b']);
    expect(resultsOf(envelopes)).toEqual({ 'call-a': { paid: 'a' }, 'call-b': { paid: 'b' } });
  });

  it('goes on from the step after the answer if its process is lost there', async () => {
    const first = agentOf([calls('a'), { acts: [{ type: 'text', text: 'It' }], then: 'hold' }]);
    const context = answering(await contextOf(), () => YES);
    for await (const { type } of first.handler.handle(
      await queryOf('Do it'),
      context,
    ) as AsyncIterable<Envelope>)
      if (type === 'message') context.abort();
    const second = agentOf([says('Done')]);
    const again = await contextOf({ resumed: resumedOf(context) });
    expect(textOf(await ask(second.handler, again))).toBe('Done');
    expect([done, again.questions]).toEqual([['a'], []]);
    expect(usersOf(second.model)).toEqual(['Do it']);
  });

  it('ends as interrupted if its storage has lost the run', async () => {
    const { handler } = agentOf([]);
    const calls = [{ kind: 'approval', id: 'c', name: 'a', message: '?' }];
    const state = { envelopes: [], pause: { mastraRunId: 'unknown', calls } };
    const context = await contextOf({ resumed: { attempt: 2, state } });
    await expect(ask(handler, context)).rejects.toMatchObject({ code: 'interrupted' });
    expect(context.questions).toEqual([]);
  });

  it('needs a storage', async () => {
    const model = new FakeModel([calls('a')]);
    const handler = fromMastra(mastraAgent(model, [], { tools: { a: pay('a') } }), {
      stream: () => WITHOUT_RETRIES,
    });
    await expect(ask(handler, await contextOf())).rejects.toMatchObject({
      code: 'handler_failed',
      detail: expect.stringContaining('has a storage') as string,
    });
  });

  it.each([
    ['one call', ['a'], YES],
    ['several calls', ['a', 'b'], YES],
    ['a call that is refused', ['a'], { approved: false }],
    ['a tool without its input', ['choose'], undefined],
  ] as [string, string[], unknown][])('has its question once in its memory: %s', async (_, names, value) => {
    const memory = new TestMemory();
    const session = { owner: 'ann', sessionId: 's' };
    const first = agentOf([calls(...names)], { memory });
    const parked = parking(await contextOf(session));
    await ask(first.handler, parked);
    const { model, handler } = agentOf([says('Done'), says('Again')], { memory });
    const resumed = await contextOf({ ...session, resumed: resumedOf(parked) });
    await ask(
      handler,
      answering(resumed, () => value),
    );
    expect(usersOf(model)).toEqual(['Do it']);
    expect(model.newest.messages.flatMap(({ results }) => results)).toHaveLength(names.length);
    await ask(handler, await contextOf({ ...session, runId: 'run-2' }), 'And?');
    expect(usersOf(model)).toEqual(['Do it', 'And?']);
  });

  it('goes on with its memory where nobody has answered', async () => {
    const memory = new TestMemory();
    const session = { owner: 'ann', sessionId: 's' };
    const { model, handler } = agentOf([calls('a'), says('Hello')], { memory });
    await ask(handler, parking(await contextOf(session)));
    const context = await contextOf({ ...session, runId: 'run-2' });
    expect(textOf(await ask(handler, context, 'Never mind'))).toBe('Hello');
    const { messages } = model.newest;
    expect(messages.at(-1)!.text).toBe('Never mind');
    const answered = messages.flatMap(({ results }) => results.map(({ id }) => id));
    expect(messages.flatMap((message) => message.calls.map(({ id }) => id))).toEqual(answered);
    expect(done).toEqual([]);
  });

  it('has its question once in its memory if its process is lost after the answer', async () => {
    const memory = new TestMemory();
    const session = { owner: 'ann', sessionId: 's' };
    const holds: ModelStep = { acts: [{ type: 'text', text: 'It' }], then: 'hold' };
    const first = agentOf([calls('a'), holds], { memory });
    const context = answering(await contextOf(session), () => YES);
    const answer = first.handler.handle(await queryOf('Do it'), context) as AsyncIterable<Envelope>;
    for await (const { type } of answer) if (type === 'message') context.abort(new HandedOver());
    const second = agentOf([says('Done')], { memory });
    await ask(second.handler, await contextOf({ ...session, resumed: resumedOf(context) }));
    expect(usersOf(second.model)).toEqual(['Do it']);
    expect(JSON.stringify(second.model.newest.messages)).toContain('paid');
  });

  it('asks with the schema that version 1 gives', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const resumeSchema = JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema });
    const payload = { toolCallId: 'c', toolName: 'choose', suspendPayload: { why: 1 }, resumeSchema };
    const question: Question = questionOf('k', openCallOf({ type: 'tool-call-suspended', payload })!);
    expect(question).toEqual({ key: 'k', kind: 'input', message: '{"why":1}', toolCallId: 'c', schema });
    expect(openCallOf({ type: 'tool-call', payload })).toBeUndefined();
  });
});
