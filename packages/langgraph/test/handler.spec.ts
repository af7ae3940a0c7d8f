import { tool } from '@langchain/core/tools';
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import {
  Annotation,
  type LangGraphRunnableConfig,
  MemorySaver,
  MessagesAnnotation,
  StateGraph,
} from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { FakeChatModel, graphOf, toolsOf } from './harness.js';
import { FakeModel, type ModelAct, type ModelStep } from '../../../test/contracts/adapters/fake-model.js';
import { deferred, eventually } from '../../../test/support/conditions.js';
import { type AgentHandler, type Envelope, QueryError } from 'nest-agent-query';
import { HandedOver } from 'nest-agent-query/agents';
import { collect, type ContextInput, contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import { fromLangGraph } from '../src/index.js';

const END: ModelAct = { type: 'end', usage: { inputTokens: 1, outputTokens: 1 } };
const says = (...texts: string[]): ModelStep => ({
  acts: [...texts.map((text) => ({ type: 'text' as const, text })), END],
});
const calls = (...ids: string[]): ModelStep => ({
  acts: [...ids.map((id) => ({ type: 'call' as const, id, name: 'look', arguments: { city: id } })), END],
});
const holds = (text: string): ModelStep => ({ acts: [{ type: 'text', text }], then: 'hold' });

const shown = (envelopes: Envelope[]) => envelopes.filter(({ type }) => type !== 'usage');
const dataOf = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);
const textOf = (envelopes: Envelope[]) =>
  dataOf(envelopes, 'message')
    .map(({ content }) => content)
    .join('');
const answer = async (
  handler: AgentHandler,
  text: string,
  context: ContextInput | TestContext = {},
  kwargs = {},
) =>
  collect(
    handler.handle(await queryOf(text, kwargs), 'signal' in context ? context : await contextOf(context)),
  );
const errorOf = (answered: Promise<unknown>) =>
  answered.then(
    () => undefined,
    (error: unknown) => error as QueryError,
  );

/** Reads an answer until it has an envelope, then stops the run. */
async function readUntil(
  handler: AgentHandler,
  text: string,
  context: TestContext,
  isLast: (envelope: Envelope) => boolean,
  reason: unknown = new Error('cancelled'),
): Promise<Envelope[]> {
  const envelopes: Envelope[] = [];
  for await (const envelope of handler.handle(await queryOf(text), context) as AsyncIterable<Envelope>) {
    envelopes.push(envelope);
    if (isLast(envelope)) context.abort(reason);
  }
  return envelopes;
}

describe('A graph with a structured response', () => {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    structuredResponse: Annotation<{ city: string }>(),
  });
  const graph = () =>
    new StateGraph(State)
      .addNode('answer', () => ({
        messages: [new AIMessage('Paris')],
        structuredResponse: { city: 'Paris' },
      }))
      .addNode('after', () => ({ messages: [] }))
      .addEdge('__start__', 'answer')
      .addEdge('answer', 'after')
      .addEdge('after', '__end__');

  it('gives it as the result at the end, once, also in another attempt', async () => {
    const handler = fromLangGraph(graph().compile({ checkpointer: new MemorySaver() }));
    const context = await contextOf({ sessionId: 's' });
    const envelopes = await answer(handler, 'Which?', context);
    expect(envelopes.at(-1)).toEqual({ type: 'result', data: { value: { city: 'Paris' } } });
    expect(dataOf(envelopes, 'result')).toHaveLength(1);
    for (const state of context.checkpoints.slice(-2)) {
      const resumed = await contextOf({ sessionId: 's', resumed: { attempt: 2, state } });
      expect(dataOf(await answer(handler, 'Which?', resumed), 'result')).toEqual([
        { value: { city: 'Paris' } },
      ]);
    }
    expect(dataOf(await answer(fromLangGraph(graph().compile()), 'Which?'), 'result')).toHaveLength(1);
  });
});

describe('A graph with a checkpointer', () => {
  let saver: MemorySaver;
  let looked: string[];
  const look = {
    name: 'look',
    execute: ({ city }: Record<string, unknown>) => {
      looked.push(String(city));
      return { city };
    },
  };
  const handlerOf = (...steps: ModelStep[]) => {
    const model = new FakeModel(steps);
    return { model, handler: fromLangGraph(graphOf(model, [look], saver)) };
  };
  beforeEach(() => {
    saver = new MemorySaver();
    looked = [];
  });

  it('remembers each session of each owner for itself', async () => {
    const { model, handler } = handlerOf(...Array.from({ length: 5 }, () => says('Yes.')));
    const sessions: [string, string][] = [
      ['ann', 'a'],
      ['bob', 'a'],
      ['ann","b', 'c'],
      ['ann', 'b","c'],
      ['ann', 'a'],
    ];
    for (const [index, [owner, sessionId]] of sessions.entries())
      await answer(handler, `Question ${index}`, { owner, sessionId, runId: `run-${index}` });
    const asked = model.requests.map(({ messages }) => messages.filter(({ role }) => role === 'user').length);
    expect(asked).toEqual([1, 1, 1, 1, 2]);
    expect(Object.keys(saver.storage)).toEqual(Array(4).fill(expect.stringMatching(/^[0-9a-f]{64}$/)));
  });

  it('forgets a run without a session', async () => {
    const { handler } = handlerOf(says('Yes.'), { acts: [], then: 'break' });
    await answer(handler, 'Hello');
    expect(await errorOf(answer(handler, 'Hello'))).toMatchObject({ code: 'unavailable' });
    expect(saver.storage).toEqual({});
  });

  it('keeps the thread of a run without a session if another attempt continues it', async () => {
    const { handler } = handlerOf(calls('1'), holds('It'));
    const context = await contextOf();
    await readUntil(handler, 'Hello', context, ({ type }) => type === 'message', new HandedOver());
    expect(Object.keys(saver.storage)).toEqual(['test-run']);
  });

  it('keeps the thread of a run without a session if another process has the run now', async () => {
    const { model, handler } = handlerOf(calls('1'), holds('It'));
    const context = await contextOf();
    let stored = 0;
    context.checkpoint = async () => {
      if (++stored === 3) throw new QueryError('interrupted', 'The run is lost.');
    };
    expect(await errorOf(answer(handler, 'Hello', context))).toMatchObject({ code: 'interrupted' });
    expect(Object.keys(saver.storage)).toEqual(['test-run']);
    expect(model.requests.slice(1).every(({ isAborted }) => isAborted)).toBe(true);
  });

  it('begins with the history if it does not know the session', async () => {
    const { model, handler } = handlerOf(says('Ada'));
    const turns = [{ question: 'I am Ada', answer: 'Hello Ada' }];
    await answer(handler, 'Who am I?', { turns });
    expect(model.newest.messages.map(({ text }) => text)).toEqual(['I am Ada', 'Hello Ada', 'Who am I?']);
    await handler.sessionErased!({ owner: 'anonymous', id: 'test-session' });
    expect(saver.storage).toEqual({});
  });

  it('goes on with a conversation that was cut off in a tool', async () => {
    const begun = deferred();
    const end = deferred();
    const slow = {
      name: 'look',
      execute: async ({ city }: Record<string, unknown>) => {
        if (city === '1') return 'seen';
        begun.resolve();
        await end.promise;
      },
    };
    const model = new FakeModel([calls('1', '2'), says('Yes.')]);
    const handler = fromLangGraph(graphOf(model, [slow], saver));
    const context = await contextOf({ sessionId: 'a', runId: 'run-1' });
    const read = answer(handler, 'Look', context);
    await begun.promise;
    context.abort();
    await read;
    end.resolve();
    expect(textOf(await answer(handler, 'And now?', { sessionId: 'a', runId: 'run-2' }))).toBe('Yes.');
    expect(model.newest.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'user',
    ]);
  });

  it('ends a cancelled run only when its models have stopped', async () => {
    const begun = deferred();
    const end = deferred();
    class Slow extends FakeChatModel {
      override async *_streamResponseChunks(): ReturnType<FakeChatModel['_streamResponseChunks']> {
        begun.resolve();
        await end.promise;
        throw new Error('stopped');
        yield* [];
      }
    }
    const llm = new Slow(new FakeModel([]));
    const handler = fromLangGraph(createReactAgent({ llm, tools: [], checkpointer: saver }));
    const context = await contextOf({ sessionId: 'a' });
    let hasEnded = false;
    const read = answer(handler, 'Look', context).then(() => (hasEnded = true));
    await begun.promise;
    context.abort();
    for (let tick = 0; tick < 50; tick++) await new Promise((resolve) => setImmediate(resolve));
    expect(hasEnded).toBe(false);
    end.resolve();
    await read;
  });

  describe('that is executed again', () => {
    const attempt = async (
      handler: AgentHandler,
      state: unknown,
      input: ContextInput = { sessionId: 'a' },
    ): Promise<{ envelopes: Envelope[]; context: TestContext }> => {
      const context = await contextOf({ ...input, resumed: { attempt: 2, state } });
      return { envelopes: await answer(handler, 'Look', context), context };
    };

    it('gets the question once if its first step was cut off', async () => {
      const first = handlerOf(holds('It'));
      const context = await contextOf({ sessionId: 'a' });
      await readUntil(first.handler, 'Look', context, ({ type }) => type === 'message', new HandedOver());
      const { model, handler } = handlerOf(says('It is so.'));
      const { envelopes } = await attempt(handler, context.checkpoints.at(-1));
      expect(textOf(envelopes)).toBe('It is so.');
      expect(model.newest.messages.map(({ role }) => role)).toEqual(['user']);
    });

    it('shows the steps again whose envelopes are void, and does not repeat them', async () => {
      const first = handlerOf(calls('1', '2'), holds('It'));
      const context = await contextOf({ sessionId: 'a' });
      const before = await readUntil(
        first.handler,
        'Look',
        context,
        ({ type }) => type === 'message',
        new HandedOver(),
      );
      expect(looked).toEqual(['1', '2']);
      for (const state of context.checkpoints.slice(0, -1)) {
        const copy = handlerOf(says('It is so.'));
        const kept = (state as { at?: string }).at === undefined ? 0 : 3;
        const { envelopes } = await attempt(copy.handler, state, { sessionId: 'a' });
        const all = [...before.slice(0, kept), ...envelopes];
        expect(dataOf(all, 'tool_call')).toEqual(dataOf(before, 'tool_call'));
        expect(dataOf(all, 'tool_result')).toEqual(dataOf(before, 'tool_result'));
        expect(looked).toEqual(['1', '2']);
        expect(copy.model.requests.length).toBe(kept === 0 ? 1 : 0);
      }
    });

    it('does not repeat a tool that has ended beside one that has not', async () => {
      const begun = deferred();
      const end = deferred();
      const executed: unknown[] = [];
      const graphWith = (model: FakeModel, isCut: boolean) => {
        const slow = async ({ city }: Record<string, unknown>) => {
          executed.push(city);
          if (isCut && city === '2') {
            begun.resolve();
            await end.promise;
          }
          return { city };
        };
        const llm = new FakeChatModel(model);
        const tools = toolsOf([{ name: 'look', execute: slow }]);
        return fromLangGraph(createReactAgent({ llm, tools, checkpointer: saver, version: 'v2' }));
      };
      const first = graphWith(new FakeModel([calls('1', '2')]), true);
      const context = await contextOf({ sessionId: 'a' });
      const before: Envelope[] = [];
      const read = readUntil(first, 'Look', context, (envelope) => {
        before.push(envelope);
        return envelope.type === 'tool_result';
      });
      await begun.promise;
      await eventually(() => before.some(({ type }) => type === 'tool_result'));
      await read;
      end.resolve();
      const again = graphWith(new FakeModel([says('It is so.')]), false);
      const { envelopes } = await attempt(again, context.checkpoints.at(-1));
      expect(executed).toEqual(['1', '2', '2']);
      expect(before.map(({ type }) => type)).toContain('tool_call');
      expect(dataOf(envelopes, 'tool_result')).toEqual([
        { id: '1', content: { city: '1' } },
        { id: '2', content: { city: '2' } },
      ]);
      expect(textOf(envelopes)).toBe('It is so.');
    });

    it('does not show the history again', async () => {
      const turns = [{ question: 'I am Ada', answer: 'Hello Ada' }];
      const first = handlerOf(calls('1'), holds('It'));
      const context = await contextOf({ turns });
      await readUntil(first.handler, 'Look', context, ({ type }) => type === 'message', new HandedOver());
      const { model, handler } = handlerOf(says('It is so.'));
      const { envelopes } = await attempt(handler, context.checkpoints[0], { turns });
      expect(shown(envelopes).map(({ type }) => type)).toEqual(['tool_call', 'tool_result', 'message']);
      expect(model.newest.messages.map(({ text }) => text)).toEqual([
        'I am Ada',
        'Hello Ada',
        'Look',
        '',
        '{"city":"1"}',
      ]);
    });

    it('has nothing to do after its last step, also if its thread is gone', async () => {
      const first = handlerOf(says('It is so.'));
      const context = await contextOf();
      await answer(first.handler, 'Look', context);
      expect(saver.storage).toEqual({});
      const { envelopes } = await attempt(handlerOf().handler, context.checkpoints.at(-1), {});
      expect(envelopes).toEqual([]);
    });

    it('is interrupted if its checkpointer keeps too little to know what callers have seen', async () => {
      const first = handlerOf(calls('1'), holds('It'));
      const context = await contextOf({ sessionId: 'a' });
      await readUntil(first.handler, 'Look', context, ({ type }) => type === 'message', new HandedOver());
      const getTuple = saver.getTuple.bind(saver);
      const newest = (context.checkpoints.at(-1) as { at: string }).at;
      saver.getTuple = async (config) => {
        const id = config.configurable?.['checkpoint_id'] as string | undefined;
        return id === undefined || id === newest ? getTuple(config) : undefined;
      };
      const { handler } = handlerOf(says('It is so.'));
      expect(await errorOf(attempt(handler, context.checkpoints[1]))).toMatchObject({ code: 'interrupted' });
      const { envelopes } = await attempt(handler, context.checkpoints.at(-1));
      expect(textOf(envelopes)).toBe('It is so.');
    });

    it('is interrupted if its thread is gone', async () => {
      const first = handlerOf(calls('1'), holds('It'));
      const context = await contextOf({ sessionId: 'a' });
      await readUntil(first.handler, 'Look', context, ({ type }) => type === 'message', new HandedOver());
      saver = new MemorySaver();
      const { handler } = handlerOf(says('It is so.'));
      expect(await errorOf(attempt(handler, context.checkpoints.at(-1)))).toMatchObject({
        code: 'interrupted',
      });
    });
  });
});

describe('The texts of a graph', () => {
  const nodeOf = (model: FakeModel) => {
    const llm = new FakeChatModel(model);
    return async ({ messages }: { messages: BaseMessage[] }) => ({ messages: [await llm.invoke(messages)] });
  };

  it('are those of all nodes, or of the nodes that are named', async () => {
    const graph = () =>
      new StateGraph(MessagesAnnotation)
        .addNode('plan', nodeOf(new FakeModel([says('Plan')])))
        .addNode('write', nodeOf(new FakeModel([says('Text')])))
        .addEdge('__start__', 'plan')
        .addEdge('plan', 'write')
        .compile();
    expect(textOf(await answer(fromLangGraph(graph()), 'Hello'))).toBe('PlanText');
    const some = await answer(fromLangGraph(graph(), { textNodes: ['write'] }), 'Hello');
    expect(textOf(some)).toBe('Text');
    expect(dataOf(some, 'usage').length).toBe(2);
  });

  it('are shown once if a node copies them', async () => {
    const llm = new FakeChatModel(new FakeModel([says('Hel', 'lo')]));
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('copy', async ({ messages }) => {
        const { text } = await llm.invoke(messages);
        return { messages: [new AIMessage({ content: text, name: 'copy' })] };
      })
      .addEdge('__start__', 'copy')
      .compile();
    const envelopes = await answer(fromLangGraph(graph), 'Hello');
    expect(dataOf(envelopes, 'message').map(({ content }) => content)).toEqual(['Hel', 'lo']);
  });

  it('are not those of models that a tool asks', async () => {
    const inner = new FakeChatModel(new FakeModel([says('inner')]));
    const ask = tool(async (_: unknown, config: RunnableConfig) => (await inner.invoke('?', config)).text, {
      name: 'look',
      description: 'asks',
      schema: { type: 'object', properties: {} },
    });
    const llm = new FakeChatModel(new FakeModel([calls('1'), says('outer')]));
    const envelopes = await answer(fromLangGraph(createReactAgent({ llm, tools: [ask] })), 'Hello');
    expect(textOf(envelopes)).toBe('outer');
    expect(dataOf(envelopes, 'tool_result')).toEqual([{ id: '1', content: 'inner' }]);
    expect(dataOf(envelopes, 'usage').length).toBe(3);
  });

  it.each([false, true])('of a subgraph are shown once: subgraphs %s', async (subgraphs) => {
    const part = createReactAgent({
      llm: new FakeChatModel(new FakeModel([calls('1'), says('in', 'side')])),
      tools: toolsOf([{ name: 'look', execute: () => 'seen' }]),
    });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('part', part)
      .addNode('end', nodeOf(new FakeModel([says(' and outside')])))
      .addEdge('__start__', 'part')
      .addEdge('part', 'end')
      .compile();
    const turns = [{ question: 'Before', answer: 'Earlier answer' }];
    const envelopes = await answer(fromLangGraph(graph, { subgraphs }), 'Hello', { turns });
    expect(shown(envelopes).map(({ type }) => type)).toEqual([
      'tool_call',
      'tool_result',
      ...(subgraphs ? ['message', 'message'] : ['message']),
      'message',
    ]);
    expect(textOf(envelopes)).toBe('inside and outside');
    expect(dataOf(envelopes, 'usage').length).toBe(3);
  });

  it('of a model that does not stream are shown whole', async () => {
    const llm = new FakeChatModel(new FakeModel([says('Hel', 'lo')]));
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('quiet', async ({ messages }) => ({
        messages: [await llm.withConfig({ tags: ['nostream'] }).invoke(messages)],
      }))
      .addEdge('__start__', 'quiet')
      .compile();
    const envelopes = await answer(fromLangGraph(graph), 'Hello');
    expect(textOf(envelopes)).toBe('Hello');
  });
});

describe('A graph', () => {
  it('may write envelopes of its own', async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('work', (_state, config: LangGraphRunnableConfig) => {
        config.writer?.({ type: 'progress', data: { done: 1, total: 2 } });
        config.writer?.('no envelope');
        config.writer?.({ type: 'no envelope either' });
        config.writer?.({ type: 'chart', data: [1, 2] });
        return {};
      })
      .addEdge('__start__', 'work')
      .compile();
    expect(await answer(fromLangGraph(graph), 'Hello')).toEqual([
      { type: 'progress', data: { done: 1, total: 2 } },
      { type: 'chart', data: [1, 2] },
    ]);
  });

  it('may have another state, a config and a context', async () => {
    const State = Annotation.Root({ question: Annotation<string>, answers: Annotation<BaseMessage[]> });
    const graph = new StateGraph(State)
      .addNode('work', ({ question }, { configurable }: LangGraphRunnableConfig) => ({
        answers: [new AIMessage(`${question} ${configurable?.['tone']}`)],
      }))
      .addEdge('__start__', 'work')
      .compile();
    const handler = fromLangGraph(graph, {
      input: (messages) => ({ question: messages.at(-1)!.text }),
      config: ({ kwargs }) => ({ configurable: { tone: kwargs['tone'] } }),
    });
    expect(textOf(await answer(handler, 'Hello', {}, { tone: 'loud' }))).toBe('Hello loud');
  });

  it('ends as what it is if it uses up its steps', async () => {
    const model = new FakeModel([calls('1'), calls('2'), calls('3')]);
    const graph = graphOf(model, [{ name: 'look', execute: () => 'nothing' }]);
    const handler = fromLangGraph(graph, { config: { recursionLimit: 4 } });
    expect(await errorOf(answer(handler, 'Look'))).toMatchObject({
      code: 'handler_failed',
      detail: expect.stringContaining('steps'),
    });
  });

  it('fails with the error of a node, whatever status it has', async () => {
    const error = Object.assign(new Error('of a database'), { status: 429 });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('work', () => {
        throw error;
      })
      .addEdge('__start__', 'work')
      .compile();
    expect(await errorOf(answer(fromLangGraph(graph), 'Hello'))).toBe(error);
  });

  it('may fail with an error for the caller', async () => {
    const error = new QueryError('invalid_query', 'Name a city.');
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('work', () => {
        throw error;
      })
      .addEdge('__start__', 'work')
      .compile();
    expect(await errorOf(answer(fromLangGraph(graph), 'Hello'))).toBe(error);
  });

  it('shows files in the results of tools beside them', async () => {
    const picture = {
      type: 'image',
      mimeType: 'image/png',
      data: Buffer.from('png').toString('base64'),
      metadata: { filename: '../../a\nb.png' },
    };
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('work', () => ({
        messages: [new ToolMessage({ tool_call_id: '1', content: [{ type: 'text', text: 'See' }, picture] })],
      }))
      .addEdge('__start__', 'work')
      .compile();
    const [result, file] = await answer(fromLangGraph(graph), 'Hello');
    expect(result!.data).toEqual({
      id: '1',
      content: [
        { type: 'text', text: 'See' },
        { type: 'file', name: 'ab.png', mimeType: 'image/png' },
      ],
    });
    expect(file).toEqual({
      type: 'file',
      data: { name: 'ab.png', mimeType: 'image/png', content: Buffer.from('png') },
    });
  });

  it('must be compiled', () => {
    expect(() => fromLangGraph(new StateGraph(MessagesAnnotation) as never)).toThrow(TypeError);
  });

  it('leaves nothing behind when nobody reads its answer to the end', async () => {
    const model = new FakeModel([holds('It')]);
    const handler = fromLangGraph(graphOf(model, []));
    for await (const envelope of handler.handle(
      await queryOf('Hello'),
      await contextOf(),
    ) as AsyncIterable<Envelope>) {
      expect(envelope.type).toBe('message');
      break;
    }
    expect(model.newest.isAborted).toBe(true);
  });
});
