import { AIMessage } from '@langchain/core/messages';
import { interrupt, MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';
import { answering, parking } from '../../../test/contracts/adapters/asking.js';
import { FakeModel } from '../../../test/contracts/adapters/fake-model.js';
import type { AgentHandler, Envelope, QueryError, Question } from 'nest-agent-query';
import { collect, type ContextInput, contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import { type CompiledGraph, fromLangGraph } from '../src/index.js';
import { questionsOf } from '../src/questions.js';
import { graphOf } from './harness.js';

const said = (text: string) => ({ messages: [new AIMessage(text)] });
const textsOf = (envelopes: Envelope[]) =>
  envelopes.filter(({ type }) => type === 'message').map(({ data }) => (data as { content: string }).content);
const answer = async (handler: AgentHandler, context: TestContext, text = 'Hello') =>
  collect(handler.handle(await queryOf(text), context));
const errorOf = (answered: Promise<unknown>) =>
  answered.then(
    () => undefined,
    (error: unknown) => error as QueryError,
  );
const shapeOf = ({ kind, message, schema }: Question) => ({ kind, message, schema });

describe('A graph that asks', () => {
  let saver: MemorySaver;
  beforeEach(() => (saver = new MemorySaver()));

  /** A graph whose nodes are executed at once. */
  const graphOfNodes = (nodes: Record<string, () => { messages: unknown[] }>) => {
    const graph = new StateGraph(MessagesAnnotation) as StateGraph<unknown, object, object, string>;
    for (const [name, node] of Object.entries(nodes))
      graph.addNode(name, node as never).addEdge('__start__', name);
    return graph.compile({ checkpointer: saver });
  };
  const asks = (question: unknown, options?: object) =>
    graphOfNodes({ ask: () => said(`You said ${JSON.stringify(interrupt(question, options))}.`) });
  const answered = async (
    graph: CompiledGraph,
    valueOf: (question: Question) => unknown,
    input?: ContextInput,
  ) => {
    const context = answering(await contextOf(input), valueOf);
    return { context, texts: textsOf(await answer(fromLangGraph(graph), context)) };
  };

  it.each<[what: string, question: unknown, options: object, shape: object, value: unknown]>([
    ['a text', 'Which city?', {}, { message: 'Which city?' }, 'Paris'],
    ['any value', { allow: 7 }, {}, { message: '{"allow":7}', schema: true }, { ok: [1] }],
    [
      'a message and a schema',
      { message: 'Which?', schema: { enum: ['Q1', 'Q2'] } },
      {},
      { message: 'Which?', schema: { enum: ['Q1', 'Q2'] } },
      'Q1',
    ],
    [
      'a text for an answer with a schema',
      'How many?',
      { responseSchema: z.number() },
      { message: 'How many?', schema: expect.objectContaining({ type: 'number' }) },
      3,
    ],
  ])('asks for an input: %s', async (_, question, options, shape, value) => {
    const { context, texts } = await answered(asks(question, options), () => value);
    expect(context.questions.map(shapeOf)).toEqual([{ kind: 'input', ...shape }]);
    expect(texts).toEqual([`You said ${JSON.stringify(value)}.`]);
  });

  it('gets null where nobody wants to answer', async () => {
    const { texts } = await answered(asks('Which city?'), () => undefined);
    expect(texts).toEqual(['You said null.']);
  });

  it('asks several nodes at once, and each node gets its answer', async () => {
    const ask = (name: string) => () => said(`${name}: ${interrupt(`${name}?`)}`);
    const graph = graphOfNodes({ one: ask('one'), two: ask('two'), three: () => said('three') });
    const { context, texts } = await answered(graph, ({ message }) => `to ${message}`);
    expect(context.pauses).toBe(1);
    expect(context.questions.map(({ message }) => message)).toEqual(['one?', 'two?']);
    expect(texts).toEqual(['three', 'one: to one?', 'two: to two?']);
  });

  it('asks again where a node asks twice, with another key', async () => {
    const graph = graphOfNodes({ ask: () => said(`${interrupt('one?')} ${interrupt('two?')}`) });
    const { context, texts } = await answered(graph, ({ message }) => message.toUpperCase());
    expect(context.pauses).toBe(2);
    expect(new Set(context.questions.map(({ key }) => key)).size).toBe(2);
    expect(texts).toEqual(['ONE? TWO?']);
  });

  it('tells interrupts with one id apart, and answers them as one list', () => {
    const { questions, resume } = questionsOf(
      [
        { id: 'a', value: 'One?' },
        { id: 'b', value: 'Two?' },
        { id: 'a', value: 'Three?' },
      ],
      [],
      () => undefined,
    );
    expect(questions.map(({ key, message }) => [key, message])).toEqual([
      ['a:0', 'One?'],
      ['a:1', 'Three?'],
      ['b', 'Two?'],
    ]);
    const answers = questions.map(({ key }) => ({
      id: key,
      outcome: 'answered' as const,
      value: key,
      by: 'ann',
      at: '',
    }));
    expect(resume(answers)).toEqual({ a: ['a:0', 'a:1'], b: 'b' });
  });

  it('asks about calls only what may be answered, in the words of the graph for Python too', async () => {
    const value = {
      action_requests: [
        { name: 'pay', args: { sum: 1 }, description: 'Pay?' },
        { name: 'send', args: {} },
        { name: 'mail', args: {} },
      ],
      review_configs: [
        { action_name: 'pay', allowed_decisions: ['edit', 'reject'] },
        { action_name: 'send', allowed_decisions: ['approve', 'respond'] },
        { action_name: 'mail', allowed_decisions: ['approve', 'reject'] },
      ],
    };
    const { context, texts } = await answered(asks(value), ({ name }) =>
      name === 'pay' ? { approved: true } : { approved: false, reason: `No ${name}.` },
    );
    const [{ key }] = context.questions as [Question];
    const id = key.slice(0, -2);
    expect(context.questions).toEqual([
      {
        key: `${id}:0`,
        kind: 'approval',
        message: 'Pay?',
        name: 'pay',
        arguments: { sum: 1 },
        editable: true,
      },
      {
        key: `${id}:1`,
        kind: 'approval',
        message: 'May the agent call the tool "send"?',
        name: 'send',
        arguments: {},
        editable: false,
      },
      expect.objectContaining({ key: `${id}:2`, name: 'mail', editable: false }),
    ]);
    expect(texts).toEqual([
      `You said ${JSON.stringify({
        decisions: [
          { type: 'edit', edited_action: { name: 'pay', args: { sum: 1 } } },
          { type: 'respond', message: 'Not executed. No send.' },
          { type: 'reject', message: 'Not executed. No mail.' },
        ],
      })}.`,
    ]);
  });

  it('asks whether it may go on where it was told to stop, and ends if it may not', async () => {
    const graph = () =>
      new StateGraph(MessagesAnnotation)
        .addNode('one', () => said('one'))
        .addNode('two', () => said('two'))
        .addEdge('__start__', 'one')
        .addEdge('one', 'two')
        .compile({ checkpointer: saver, interruptBefore: ['two'] });
    const yes = await answered(graph(), () => ({ approved: true }), { sessionId: 'a' });
    expect(yes.context.questions.map(({ kind }) => kind)).toEqual(['approval']);
    expect(yes.texts).toEqual(['one', 'two']);
    const no = await answered(graph(), () => ({ approved: false }), { sessionId: 'b' });
    expect(no.texts).toEqual(['one']);
    const next = await answered(graph(), () => ({ approved: true }), { sessionId: 'b', runId: 'run-2' });
    expect(next.texts).toEqual(['one', 'two']);
  });

  it('begins anew with the next query if nobody has answered', async () => {
    const handler = fromLangGraph(asks('Which city?'));
    await answer(handler, parking(await contextOf({ sessionId: 'a' })));
    const context = answering(await contextOf({ sessionId: 'a', runId: 'run-2' }), () => 'Paris');
    expect(textsOf(await answer(handler, context, 'Rome'))).toEqual(['You said "Paris".']);
    expect(context.questions).toHaveLength(1);
  });

  it('needs a checkpointer', async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('ask', () => said(interrupt('Which city?')))
      .addEdge('__start__', 'ask')
      .compile();
    expect(await errorOf(answer(fromLangGraph(graph), await contextOf()))).toMatchObject({
      code: 'handler_failed',
      detail: expect.stringContaining('without a checkpointer'),
    });
  });

  it('keeps the thread of a run without a session while it asks, and no longer', async () => {
    const graph = asks('Which city?');
    const parked = parking(await contextOf());
    await answer(fromLangGraph(graph), parked);
    expect(Object.keys(saver.storage)).toEqual(['test-run']);
    const resumed = { attempt: 2, state: parked.checkpoints.at(-1) };
    expect((await answered(graph, () => 'Paris', { resumed })).texts).toEqual(['You said "Paris".']);
    expect(saver.storage).toEqual({});
    const cancelled = await contextOf();
    cancelled.ask = async () => {
      cancelled.abort();
      throw cancelled.signal.reason as Error;
    };
    expect(await answer(fromLangGraph(graph), cancelled)).toEqual([]);
    expect(saver.storage).toEqual({});
  });

  describe('and is executed again', () => {
    /** A graph with a node that asks beside one that does not. */
    const executed: string[] = [];
    const graph = () =>
      graphOfNodes({
        ask: () => {
          const value: unknown = interrupt('Which city?');
          executed.push('ask');
          return said(`You said ${String(value)}.`);
        },
        work: () => {
          executed.push('work');
          return said('Worked.');
        },
      });
    const parkedRun = async () => {
      const parked = parking(await contextOf({ sessionId: 'a' }));
      const before = await answer(fromLangGraph(graph()), parked);
      return { parked, texts: textsOf(before) };
    };
    beforeEach(() => void executed.splice(0));

    it('executes nothing before the question, and shows nothing twice', async () => {
      const { parked, texts } = await parkedRun();
      expect(texts).toEqual(['Worked.']);
      const resumed = { attempt: 2, state: parked.checkpoints.at(-1) };
      const again = await answered(
        graph(),
        () => {
          expect(executed).toEqual(['work']);
          return 'Paris';
        },
        { sessionId: 'a', resumed },
      );
      expect(again.context.questions).toEqual(parked.questions);
      expect(again.texts).toEqual(['You said Paris.']);
      expect(executed).toEqual(['work', 'ask']);
    });

    it('asks if its process was lost before it could, and shows again what is void', async () => {
      const { parked } = await parkedRun();
      // The checkpoint before the question.
      const resumed = { attempt: 2, state: parked.checkpoints[0] };
      const again = await answered(graph(), () => 'Paris', { sessionId: 'a', resumed });
      expect(again.context.questions).toEqual(parked.questions);
      expect(again.texts.toSorted()).toEqual(['Worked.', 'You said Paris.']);
      expect(executed).toEqual(['work', 'ask']);
    });

    it('executes nothing again that has ended after the answer, and shows it', async () => {
      const { parked } = await parkedRun();
      const resumed = { attempt: 2, state: parked.checkpoints.at(-1) };
      const input = { sessionId: 'a', resumed };
      await answered(graph(), () => 'Paris', input);
      const again = await answered(graph(), () => 'Rome', input);
      expect(again.context.questions).toEqual([]);
      expect(again.texts).toEqual(['You said Paris.']);
      expect(executed).toEqual(['work', 'ask']);
    });

    it('ends as interrupted if its thread is gone', async () => {
      const { parked } = await parkedRun();
      saver = new MemorySaver();
      const resumed = { attempt: 2, state: parked.checkpoints.at(-1) };
      expect(await errorOf(answered(graph(), () => 'Paris', { sessionId: 'a', resumed }))).toMatchObject({
        code: 'interrupted',
      });
    });
  });

  it('goes on with a conversation whose call nobody has approved', async () => {
    const model = new FakeModel([
      {
        acts: [
          { type: 'call', id: 'call-1', name: 'pay', arguments: {} },
          { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } },
        ],
      },
      {
        acts: [
          { type: 'text', text: 'Hello' },
          { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } },
        ],
      },
    ]);
    const tools = [{ name: 'pay', execute: () => 'paid', needsApproval: true }];
    const handler = fromLangGraph(graphOf(model, tools, saver));
    await answer(handler, parking(await contextOf({ sessionId: 'a' })), 'Pay');
    const context = await contextOf({ sessionId: 'a', runId: 'run-2' });
    expect(textsOf(await answer(handler, context, 'Never mind'))).toEqual(['Hello']);
    expect(model.newest.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
  });
});
