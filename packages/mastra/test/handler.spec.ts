import { jest } from '@jest/globals';
import { Agent } from '@mastra/core/agent';
import { z } from 'zod';
import { FakeModel, type ModelAct, type ModelStep } from '../../../test/contracts/adapters/fake-model.js';
import type { FakeTool } from '../../../test/contracts/adapters/harness.js';
import { mastraAgent, mastraTool, WITHOUT_RETRIES } from './harness.js';
import { deferred, eventually } from '../../../test/support/conditions.js';
import { TestMemory } from './memory.js';
import { type AgentHandler, type Envelope, type Query, QueryError } from 'nest-agent-query';
import { HandedOver } from 'nest-agent-query/agents';
import { collect, contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import { ChunkEnvelopes } from '../src/chunk-envelopes.js';
import { fromMastra, type MastraAgent, type MastraOptions } from '../src/index.js';

const END: ModelAct = { type: 'end', usage: { inputTokens: 2, outputTokens: 1 } };
const says = (...texts: string[]): ModelStep => ({
  acts: [...texts.map((text): ModelAct => ({ type: 'text', text })), END],
});
const calls = (id = 'call-1'): ModelStep => ({
  acts: [{ type: 'call', id, name: 'act', arguments: {} }, END],
});
const act = (execute: FakeTool['execute'] = () => 'the result'): FakeTool => ({ name: 'act', execute });

function agentOf(
  steps: ModelStep[],
  tools: FakeTool[] = [],
  config: object = {},
  options: MastraOptions = {},
) {
  const model = new FakeModel(steps);
  const agent = mastraAgent(model, tools, config);
  return { model, agent, handler: fromMastra(agent, { stream: () => WITHOUT_RETRIES, ...options }) };
}

const ofType = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);
const textOf = (envelopes: Envelope[]) =>
  ofType(envelopes, 'message')
    .map(({ content }) => content)
    .join('');

async function ask(handler: AgentHandler, question = 'Hello', context?: TestContext): Promise<Envelope[]> {
  return collect(handler.handle(await queryOf(question), context ?? (await contextOf())));
}

describe('An agent of Mastra', () => {
  // The framework writes errors of models to the console.
  beforeEach(() => void jest.spyOn(console, 'error').mockImplementation(() => undefined));
  afterEach(() => jest.restoreAllMocks());

  it('gives its structured output as the result, once, also after a step with tools', async () => {
    const structuredOutput = { schema: z.object({ city: z.string() }) };
    const stream = () => ({ ...WITHOUT_RETRIES, structuredOutput });
    const { handler } = agentOf([calls(), says('{"city":', '"Paris"}')], [act()], {}, { stream });
    const envelopes = await ask(handler);
    expect(textOf(envelopes)).toBe('{"city":"Paris"}');
    expect(ofType(envelopes, 'result')).toEqual([{ value: { city: 'Paris' } }]);
  });

  describe('with a memory', () => {
    const turns = [{ question: 'not from the service', answer: 'nor this' }];

    it('has its history in it, and not in the turns of the service', async () => {
      const memory = new TestMemory();
      const { model, handler } = agentOf([calls(), says('Done'), says('Again')], [act()], { memory });
      await ask(handler, 'first', await contextOf({ owner: 'ann', sessionId: 's' }));
      await ask(handler, 'second', await contextOf({ owner: 'ann', sessionId: 's', turns }));
      const spoken = model.newest.messages.filter(({ role }) => role !== 'system');
      expect(spoken.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
      expect(JSON.stringify(spoken)).toContain('the result');
      expect(JSON.stringify(spoken)).not.toContain('not from the service');
    });

    it('has a thread for each session of each owner, and the owner as its resource', async () => {
      const memory = new TestMemory();
      const names = [
        ['a', 'b/c'],
        ['a/b', 'c'],
        ['a","b', 'c'],
        ['a', 'b","c'],
        ['b', 'b/c'],
      ] as const;
      const { handler } = agentOf(
        names.map(() => says('Hello')),
        [],
        { memory },
      );
      for (const [owner, sessionId] of names) await ask(handler, 'Hi', await contextOf({ owner, sessionId }));
      expect([...memory.threads.values()].map(({ resourceId }) => resourceId)).toEqual(
        names.map(([owner]) => owner),
      );
      for (const id of memory.threads.keys()) expect(memory.of(id)).toHaveLength(2);
    });

    it('erases the thread with the session, and no other', async () => {
      const memory = new TestMemory();
      const { handler } = agentOf([says('1'), says('2')], [], { memory });
      await ask(handler, 'one', await contextOf({ owner: 'ann', sessionId: 's' }));
      await ask(handler, 'two', await contextOf({ owner: 'bob', sessionId: 's' }));
      await handler.sessionErased!({ owner: 'ann', id: 's' });
      await handler.sessionErased!({ owner: 'ann', id: 'unknown' });
      expect([...memory.threads.values()].map(({ resourceId }) => resourceId)).toEqual(['bob']);
      expect(memory.messages.size).toBe(2);
    });

    it('begins with the turns of a session that it does not know: a fork, or one whose turns were replaced', async () => {
      const memory = new TestMemory();
      const { handler, model } = agentOf([says('2'), says('3')], [], { memory });
      const turns = [{ question: 'one', answer: 'Answer 1' }];
      for (const text of ['two', 'three'])
        await ask(handler, text, await contextOf({ owner: 'ann', sessionId: 's', turns }));
      expect(JSON.stringify(model.newest.messages).split('Answer 1')).toHaveLength(2);
    });

    it('uses no thread if the query has no session', async () => {
      const memory = new TestMemory();
      const { handler } = agentOf([says('Hello')], [], { memory });
      await ask(handler);
      expect([memory.threads.size, memory.messages.size]).toEqual([0, 0]);
    });

    it('has each question once after a restart', async () => {
      const memory = new TestMemory();
      const first = agentOf([calls(), { acts: [], then: 'hold' }], [act()], { memory });
      const context = await contextOf({ owner: 'ann', sessionId: 's' });
      const answer = ask(first.handler, 'Do it', context);
      await eventually(() => first.model.requests.length === 2);
      context.abort(new HandedOver());
      await answer;
      const second = agentOf([says('Done'), says('Again')], [act()], { memory });
      const resumed = { attempt: 2, state: context.checkpoints.at(-1) };
      await ask(second.handler, 'Do it', await contextOf({ owner: 'ann', sessionId: 's', resumed }));
      await ask(second.handler, 'And?', await contextOf({ owner: 'ann', sessionId: 's' }));
      const asked = second.model.newest.messages.filter(({ role }) => role === 'user');
      expect(asked.map(({ text }) => text)).toEqual(['Do it', 'And?']);
      expect(JSON.stringify(second.model.newest.messages)).toContain('the result');
    });
  });

  it('loses no part of a text that its model sends at once', async () => {
    const words = Array.from({ length: 500 }, (_, index) => `${index} `);
    const { model, handler } = agentOf([calls(), says(...words)], [act()]);
    expect(textOf(await ask(handler))).toBe(words.join(''));
    expect(model.requests).toHaveLength(2);
  });

  it('begins a step when the one before was read', async () => {
    const { model, handler } = agentOf([calls(), says('Done')], [act()]);
    const answer = (await handler.handle(await queryOf('Hi'), await contextOf())) as AsyncIterable<Envelope>;
    const iterator = answer[Symbol.asyncIterator]();
    await iterator.next();
    for (let tick = 0; tick < 50; tick++) await new Promise((resolve) => setImmediate(resolve));
    expect(model.requests).toHaveLength(1);
    for (let read = 0; read < 3; read++) await iterator.next();
    expect(model.requests).toHaveLength(2);
    await iterator.return?.();
  });

  it('keeps to the options of its stream, and its own step before each step of the host', async () => {
    const steps: number[] = [];
    const prepareStep = ({ stepNumber }: { stepNumber: number }) => {
      steps.push(stepNumber);
      return undefined;
    };
    const stream = ({ kwargs }: Query) => ({
      ...WITHOUT_RETRIES,
      prepareStep,
      maxSteps: Number(kwargs['steps']),
    });
    const { handler } = agentOf([calls(), calls('call-2'), says('x')], [act()], {}, { stream });
    const query = await queryOf('Hello', { steps: 2 });
    const envelopes = await collect(handler.handle(query, await contextOf()));
    expect(steps).toEqual([0, 1]);
    expect(ofType(envelopes, 'tool_result')).toHaveLength(2);
    expect(ofType(envelopes, 'log')).toEqual([{ message: expect.stringContaining('last step') }]);
  });

  it('calls no model if the run was stopped before', async () => {
    const { model, handler } = agentOf([{ acts: [], then: 'hold' }]);
    const context = await contextOf();
    context.abort();
    expect(await ask(handler, 'Hello', context)).toEqual([]);
    expect(model.requests.every(({ isAborted }) => isAborted)).toBe(true);
  });

  it('passes the stop on to tools', async () => {
    const started = deferred();
    let isAborted = false;
    const tool = { ...mastraTool(act()), execute: undefined as unknown };
    tool.execute = async (_input: unknown, { abortSignal }: { abortSignal: AbortSignal }) => {
      started.resolve();
      await new Promise((resolve) => abortSignal.addEventListener('abort', resolve, { once: true }));
      isAborted = true;
    };
    const { handler } = agentOf([calls()], [], { tools: { act: tool } });
    const context = await contextOf();
    const answer = ask(handler, 'Hello', context);
    await started.promise;
    context.abort();
    await answer;
    await eventually(() => isAborted);
  });

  it('has no checkpoint that is too long, and the run goes on', async () => {
    const steps = [...Array.from({ length: 6 }, (_, index) => calls(`call-${index}`)), says('Done')];
    const stream = () => ({ ...WITHOUT_RETRIES, maxSteps: 10 });
    const { handler } = agentOf(steps, [act(() => 'x'.repeat(200_000))], {}, { stream });
    const context = await contextOf();
    const { Logger } = await import('@nestjs/common');
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    expect(textOf(await ask(handler, 'Hello', context))).toBe('Done');
    expect(context.checkpoints).toHaveLength(5);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it('fails where a processor stops it', async () => {
    const strict = {
      name: 'strict',
      processInput: ({ abort }: { abort: (reason: string) => never }) => abort('secret reason'),
    };
    const { handler } = agentOf([says('x')], [], { inputProcessors: [strict] });
    const error = await ask(handler).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'handler_failed',
      detail: 'A guardrail of the agent has stopped it.',
    });
  });

  it('tells equal ids of calls in several turns apart', async () => {
    const answer = (city: string) => [
      { type: 'tool_call', data: { id: 'call_0', name: 'act', arguments: { city } } },
      { type: 'tool_result', data: { id: 'call_0', content: { city } } },
      { type: 'message', data: { content: city } },
    ];
    const { model, handler } = agentOf([says('Hello')]);
    const turns = ['Paris', 'Rome'].map((city) => ({ question: city, answer: answer(city) }));
    await ask(handler, 'Which?', await contextOf({ turns }));
    const seen = model.newest.messages.flatMap((message) => message.calls);
    expect(seen.map(({ arguments: args }) => args)).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(2);
  });

  it('is refused if it is none', () => {
    expect(() => fromMastra({} as MastraAgent)).toThrow('fromMastra needs an agent');
    expect(fromMastra(new Agent({ name: 'a', instructions: '', model: 'openai/gpt-5' })).restarts).toBe(3);
  });

  it('is translated from the chunks of later versions too', () => {
    const envelopes = new ChunkEnvelopes('run');
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const payload = { toolCallId: 'c', toolName: 'act', error: new QueryError('not_found', 'No such city.') };
    expect(envelopes.of({ type: 'tool-error', payload })).toEqual({
      type: 'tool_result',
      data: { id: 'c', content: 'No such city.', isError: true },
    });
    expect(envelopes.of({ type: 'tool-output-denied', payload: { toolCallId: 'c' } })).toEqual({
      type: 'tool_result',
      data: { id: 'c', content: 'Not executed. The call is not allowed.', isError: true },
    });
    expect(envelopes.of({ type: 'data-chart', data: [1, 2] })).toEqual({ type: 'data-chart', data: [1, 2] });
    expect(envelopes.of({ type: 'not-yet-known', payload: {} })).toBeUndefined();
    expect(() => envelopes.of({ type: 'tripwire', payload: { reason: 'x' } })).toThrow(QueryError);
    expect(warn).not.toHaveBeenCalled();
  });
});
