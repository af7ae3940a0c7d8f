import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { Agent, handoff, MemorySession, type RunContext, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { FakeModel, type ModelAct, type ModelStep } from '../../../test/contracts/adapters/fake-model.js';
import { FakeFrameworkModel } from './harness.js';
import { deferred, eventually } from '../../../test/support/conditions.js';
import {
  type AgentHandler,
  type Envelope,
  type Query,
  QueryError,
  toolCall,
  toolResult,
} from 'nest-agent-query';
import { HandedOver } from 'nest-agent-query/agents';
import { collect, contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import {
  fromOpenAIAgents,
  type MemoryRef,
  type OpenAIAgentsOptions,
  type ToolApproval,
} from '../src/index.js';

const END: ModelAct = { type: 'end', usage: { inputTokens: 2, outputTokens: 1 } };
const runner = new Runner({ tracingDisabled: true });

const says = (...texts: string[]): ModelStep => ({
  acts: [...texts.map((text): ModelAct => ({ type: 'text', text })), END],
});
const calls = (name: string, id = 'call-1', args = {}): ModelStep => ({
  acts: [{ type: 'call', id, name, arguments: args }, END],
});

interface ToolSettings {
  name?: string;
  needsApproval?: boolean;
  execute?: (context: RunContext<unknown> | undefined, signal: AbortSignal | undefined) => unknown;
}

function toolOf({ name = 'act', needsApproval = false, execute = () => 'done' }: ToolSettings) {
  return tool({
    name,
    description: name,
    strict: false,
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
    needsApproval,
    execute: (_input, context, details) => execute(context, details?.signal),
  });
}

/** An agent with a fake model, and the handler of it. */
function agentOf(
  steps: ModelStep[],
  settings: Partial<ConstructorParameters<typeof Agent>[0]> = {},
  options: OpenAIAgentsOptions = {},
) {
  const model = new FakeModel(steps);
  const agent = new Agent({ name: 'Main', ...settings, model: new FakeFrameworkModel(model) });
  return { agent, model, handler: fromOpenAIAgents(agent, { runner, ...options }) };
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

async function failureOf(handler: AgentHandler, question = 'Hello'): Promise<unknown> {
  return ask(handler, question).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('An agent of OpenAI Agents', () => {
  it('gives its structured output as the result, after the text of the model', async () => {
    const outputType = z.object({ city: z.string() });
    const { handler } = agentOf([says('{"city":', '"Paris"}')], { outputType });
    const envelopes = await ask(handler);
    expect(textOf(envelopes)).toBe('{"city":"Paris"}');
    expect(ofType(envelopes, 'result')).toEqual([{ value: { city: 'Paris' } }]);
    expect(envelopes.at(-1)!.type).toBe('result');
    expect(ofType(await ask(agentOf([says('Paris')]).handler), 'result')).toEqual([]);
  });

  describe('with a session of the framework', () => {
    const memories = new Map<string, MemorySession>();
    const refs: MemoryRef[] = [];
    const session = (memory: MemoryRef) => {
      refs.push(memory);
      const kept = memories.get(memory.key) ?? new MemorySession({ sessionId: memory.key });
      memories.set(memory.key, kept);
      return kept;
    };
    const turns = [{ question: 'not from the service', answer: 'nor this' }];

    afterEach(() => {
      memories.clear();
      refs.length = 0;
    });

    it('has its memory in it, and not in the turns of the service', async () => {
      const tools = [toolOf({ execute: () => 'the result' })];
      const { model, handler } = agentOf([calls('act'), says('Done'), says('Again')], { tools }, { session });
      await ask(handler, 'first', await contextOf({ owner: 'ann', sessionId: 's' }));
      await ask(handler, 'second', await contextOf({ owner: 'ann', sessionId: 's', turns }));
      const { messages } = model.newest;
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
      expect(JSON.stringify(messages)).toContain('the result');
      expect(JSON.stringify(messages)).not.toContain('not from the service');
    });

    it('has another one for every other owner and session, whatever their names are', async () => {
      const names = [
        ['a', 'b/c'],
        ['a/b', 'c'],
        ['a","b', 'c'],
        ['a', 'b","c'],
        ['a\0b', 'c'],
        ['a', 'b\0c'],
      ] as const;
      const { handler } = agentOf(
        names.map(() => says('Hello')),
        {},
        { session },
      );
      for (const [owner, sessionId] of names) await ask(handler, 'Hi', await contextOf({ owner, sessionId }));
      expect(memories.size).toBe(names.length);
      expect([...memories.keys()].every((key) => /^[0-9a-f]{64}$/.test(key))).toBe(true);
    });

    it('erases it with the session, and no other', async () => {
      const { handler } = agentOf([says('1'), says('2')], {}, { session });
      await ask(handler, 'one', await contextOf({ owner: 'ann', sessionId: 's' }));
      await ask(handler, 'two', await contextOf({ owner: 'bob', sessionId: 's' }));
      await handler.sessionErased!({ owner: 'ann', id: 's' });
      const [ann, bob] = await Promise.all([...memories.values()].map((memory) => memory.getItems()));
      expect(ann).toEqual([]);
      expect(bob).toHaveLength(2);
    });

    it('begins with the turns of a session that it does not know: a fork, or one whose turns were replaced', async () => {
      const { handler, model } = agentOf([says('2'), says('3')], {}, { session });
      const turns = [{ question: 'one', answer: 'Answer 1' }];
      for (const text of ['two', 'three'])
        await ask(handler, text, await contextOf({ owner: 'ann', sessionId: 's', turns }));
      expect(JSON.stringify(model.newest.messages).split('Answer 1')).toHaveLength(2);
      expect(model.newest.messages.map(({ role }) => role)).toEqual([
        ...['user', 'assistant', 'user', 'assistant', 'user'],
      ]);
    });

    it('asks for none if the query has no session', async () => {
      const { handler } = agentOf([says('Hello')], {}, { session });
      await ask(handler);
      expect(refs).toEqual([]);
    });

    it('has nothing of a run that failed or was cancelled, and the next run has its text once', async () => {
      const tools = [toolOf({})];
      const refuse = { status: 400, body: '{"error":{"message":"No"}}' };
      const held: ModelStep = { acts: [{ type: 'text', text: 'Half' }], then: 'hold' };
      const steps = [says('1'), calls('act'), { acts: [], refuse }, held, says('4'), says('5')];
      const { model, handler } = agentOf(steps, { tools }, { session });
      const inSession = { owner: 'ann', sessionId: 's' };
      const one = { question: 'one', answer: '1' };
      await ask(handler, 'one', await contextOf(inSession));
      await expect(ask(handler, 'two', await contextOf({ ...inSession, turns: [one] }))).rejects.toThrow(
        '400',
      );
      const memory = memories.get(refs[0]!.key)!;
      expect(await memory.getItems()).toHaveLength(2);

      const called = [toolCall('call-1', 'act', {}), toolResult('call-1', 'secret')];
      const end = { status: 'failed', error: { code: 'handler_failed', message: '400' } } as const;
      const two = { question: 'two', answer: called, end };
      const context = await contextOf({ ...inSession, turns: [one, two] });
      const stopped = ask(handler, 'three', context);
      await eventually(() => model.requests.length === 4);
      context.abort();
      await stopped;
      expect(await memory.getItems()).toHaveLength(2);

      const three = { question: 'three', answer: 'Half', end: { status: 'cancelled' } as const };
      await ask(handler, 'four', await contextOf({ ...inSession, turns: [one, two, three] }));
      const turns = [one, two, three, { question: 'four', answer: '4' }];
      await ask(handler, 'five', await contextOf({ ...inSession, turns }));
      const said = model.newest.messages.filter(({ text }) => text !== '').map(({ text }) => text);
      expect(said).toEqual(['one', '1', 'two', 'three', 'Half', 'four', '4', 'five']);
      expect(JSON.stringify(model.newest.messages)).not.toContain('secret');
    });

    it('has each message once after a restart', async () => {
      const tools = [toolOf({})];
      const options = { session, restarts: 1 };
      const first = agentOf([calls('act'), { acts: [], then: 'hold' }], { tools }, options);
      const context = await contextOf({ owner: 'ann', sessionId: 's' });
      const answer = ask(first.handler, 'Do it', context);
      await eventually(() => first.model.requests.length === 2);
      context.abort(new HandedOver());
      await answer;

      const second = agentOf([says('Done')], { tools }, options);
      const resumed = { attempt: 2, state: context.checkpoints.at(-1) };
      await ask(second.handler, 'Do it', await contextOf({ owner: 'ann', sessionId: 's', resumed }));
      const items = await memories.get(refs[0]!.key)!.getItems();
      expect(items.map((item) => item.type)).toEqual([
        'message',
        'function_call',
        'function_call_result',
        'message',
      ]);
    });
  });

  describe('whose tool needs an approval', () => {
    it('does not call it where the host does not allow it, and tells the model', async () => {
      let count = 0;
      const execute = () => (count += 1);
      const tools = [toolOf({ needsApproval: true, execute })];
      const approve = () => false;
      const { model, handler } = agentOf([calls('act'), says('I may not.')], { tools }, { approve });
      const envelopes = await ask(handler);
      expect(count).toBe(0);
      expect(envelopes.map(({ type }) => type).filter((type) => type !== 'usage')).toEqual([
        'tool_call',
        'tool_result',
        'message',
      ]);
      expect(ofType(envelopes, 'tool_result')[0]).toMatchObject({ id: 'call-1', isError: true });
      expect(JSON.stringify(model.newest.messages)).toContain('not approved');
    });

    it('asks the host, and calls the tool if that approves', async () => {
      const asked: ToolApproval[] = [];
      const approve = (call: ToolApproval) => asked.push(call) > 1;
      const tools = [toolOf({ needsApproval: true, execute: () => 'acted' })];
      const steps = [calls('act', 'call-1', { on: 1 }), calls('act', 'call-2', { on: 2 }), says('Done')];
      const { handler } = agentOf(steps, { tools }, { approve });
      const envelopes = await ask(handler);
      expect(asked).toEqual([
        { id: 'call-1', name: 'act', arguments: { on: 1 }, agent: 'Main' },
        { id: 'call-2', name: 'act', arguments: { on: 2 }, agent: 'Main' },
      ]);
      expect(ofType(envelopes, 'tool_result').map(({ isError, content }) => isError ?? content)).toEqual([
        true,
        'acted',
      ]);
      expect(ofType(envelopes, 'tool_call')).toHaveLength(2);
      expect(textOf(envelopes)).toBe('Done');
    });

    it('asks for no approval once the run is stopped', async () => {
      const context = await contextOf();
      const asked = deferred();
      const waits = deferred<boolean>();
      const approve = () => {
        asked.resolve();
        return waits.promise;
      };
      let count = 0;
      const tools = [toolOf({ needsApproval: true, execute: () => (count += 1) })];
      const { model, handler } = agentOf([calls('act')], { tools }, { approve });
      const answer = ask(handler, 'Hello', context);
      await asked.promise;
      context.abort();
      waits.resolve(true);
      await answer;
      expect([count, model.requests.length]).toEqual([0, 1]);
    });
  });

  it('shows a handoff as the call of a tool, and the answer of the other agent', async () => {
    const expert = agentOf([says('I am the expert.')], { name: 'Expert' });
    const { handler } = agentOf([calls('transfer_to_Expert')], { handoffs: [handoff(expert.agent)] });
    const envelopes = await ask(handler);
    expect(envelopes.map(({ type }) => type).filter((type) => type !== 'usage')).toEqual([
      'tool_call',
      'tool_result',
      'message',
    ]);
    expect(textOf(envelopes)).toBe('I am the expert.');
  });

  it('continues with the agent that it was handed over to after a restart', async () => {
    const agentsOf = (expertSteps: ModelStep[]) => {
      const expert = agentOf(expertSteps, { name: 'Expert' });
      const settings = { handoffs: [handoff(expert.agent)] };
      return { expert, main: agentOf([calls('transfer_to_Expert')], settings, { restarts: 1 }) };
    };
    const first = agentsOf([{ acts: [], then: 'hold' }]);
    const context = await contextOf();
    const answer = ask(first.main.handler, 'Hello', context);
    await eventually(() => first.expert.model.requests.length === 1);
    context.abort(new HandedOver());
    await answer;
    const second = agentsOf([says('I am the expert.')]);
    const resumed = { attempt: 2, state: context.checkpoints.at(-1) };
    const after = await ask(second.main.handler, 'Hello', await contextOf({ resumed }));
    expect(second.main.model.requests).toEqual([]);
    expect(textOf(after)).toBe('I am the expert.');
  });

  it('counts what the models of agents have used that it calls as tools', async () => {
    const inner = agentOf([says('42')], { name: 'Inner' });
    const tools = [inner.agent.asTool({ toolName: 'inner', toolDescription: 'inner' })];
    const { handler } = agentOf([calls('inner', 'c', { input: 'x' }), says('It is 42.')], { tools });
    const used = ofType(await ask(handler), 'usage');
    expect(used.map(({ inputTokens, model }) => [inputTokens, model])).toEqual([
      [2, FakeModel.MODEL_ID],
      [2, FakeModel.MODEL_ID],
      [2, undefined],
    ]);
  });

  it('stops a tool with the run, and ends when the tool has', async () => {
    const started = deferred();
    const stops = deferred();
    let hasStopped = false;
    const execute = async (_context: unknown, signal: AbortSignal | undefined) => {
      started.resolve();
      await new Promise((resolve) => signal!.addEventListener('abort', resolve, { once: true }));
      await stops.promise;
      hasStopped = true;
    };
    const { handler } = agentOf([calls('act')], { tools: [toolOf({ execute })] });
    const context = await contextOf();
    const answer = ask(handler, 'Hello', context);
    await started.promise;
    context.abort();
    let hasEnded = false;
    const ended = answer.then(() => (hasEnded = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasEnded).toBe(false);
    stops.resolve();
    await ended;
    expect(hasStopped).toBe(true);
  });

  it('calls no model if the run was stopped before', async () => {
    const { model, handler } = agentOf([{ acts: [], then: 'hold' }]);
    const context = await contextOf();
    context.abort();
    expect(await ask(handler, 'Hello', context)).toEqual([]);
    expect(model.requests.every(({ isAborted }) => isAborted)).toBe(true);
  });

  it('begins a step when the one before was read', async () => {
    const tools = [toolOf({})];
    const { model, handler } = agentOf([calls('act'), says('Done')], { tools });
    const answer = (await handler.handle(
      await queryOf('Hello'),
      await contextOf(),
    )) as AsyncIterable<Envelope>;
    const iterator = answer[Symbol.asyncIterator]();
    await iterator.next();
    for (let tick = 0; tick < 50; tick++) await new Promise((resolve) => setImmediate(resolve));
    expect(model.requests).toHaveLength(1);
    await iterator.next();
    await iterator.next();
    await iterator.next();
    expect(model.requests).toHaveLength(2);
    await iterator.return?.();
  });

  describe('in a checkpoint', () => {
    it('has no context of tools and no content of files, and gets both again', async () => {
      const seen: unknown[] = [];
      const tools = [toolOf({ execute: (context) => seen.push(context?.context) })];
      const options = { restarts: 1, context: () => ({ token: 'secret-token' }) };
      const picture = { name: 'a.png', mimeType: 'image/png', content: Buffer.alloc(900_000, 7) };
      const query = await queryOf(['What is it?', picture, { ...picture, mimeType: 'image/jpeg' }]);
      const first = agentOf([calls('act'), { acts: [], then: 'hold' }], { tools }, options);
      const context = await contextOf();
      const answer = collect(first.handler.handle(query, context));
      await eventually(() => first.model.requests.length === 2);
      context.abort(new HandedOver());
      await answer;
      const state = context.checkpoints.at(-1);
      expect(JSON.stringify(state).length).toBeLessThan(20_000);
      expect(JSON.stringify(state)).not.toContain('secret-token');

      const second = agentOf([calls('act', 'call-2'), says('A picture')], { tools }, options);
      const resumed = await contextOf({ resumed: { attempt: 2, state } });
      expect(textOf(await collect(second.handler.handle(query, resumed)))).toBe('A picture');
      const [question] = second.model.requests[0]!.messages;
      expect(question!.files.map(({ mimeType }) => mimeType)).toEqual(['image/png', 'image/jpeg']);
      expect(question!.files.every(({ bytes }) => picture.content.equals(bytes))).toBe(true);
      expect(seen).toEqual([{ token: 'secret-token' }, { token: 'secret-token' }]);
    });

    it('is left out if it is too long, and the run goes on', async () => {
      const tools = [toolOf({ execute: () => 'x'.repeat(600_000) })];
      const { handler } = agentOf(
        [calls('act'), calls('act', 'call-2'), says('Done')],
        { tools },
        { restarts: 1 },
      );
      const context = await contextOf();
      expect(textOf(await ask(handler, 'Hello', context))).toBe('Done');
      expect(context.checkpoints).toHaveLength(1);
    });

    it('is not made if no run is continued', async () => {
      const { handler } = agentOf([calls('act'), says('Done')], { tools: [toolOf({})] }, { restarts: 0 });
      const context = await contextOf();
      await ask(handler, 'Hello', context);
      expect([context.checkpoints, handler.restarts]).toEqual([[], 0]);
    });
  });

  describe('that fails', () => {
    const trips = { name: 'strict', execute: async () => ({ tripwireTriggered: true, outputInfo: 'why' }) };

    it.each<[string, AgentHandler, RegExp]>([
      [
        'at the limit of turns',
        agentOf([calls('act'), says('x')], { tools: [toolOf({})] }, { maxTurns: 1 }).handler,
        /as often as it may/,
      ],
      [
        'at a guardrail of the query',
        agentOf([says('x')], { inputGuardrails: [trips] }).handler,
        /does not let it answer this query/,
      ],
      [
        'at a guardrail of the answer',
        agentOf([says('x')], { outputGuardrails: [trips] }).handler,
        /does not let it give the answer/,
      ],
    ])('%s, tells the caller so', async (_, handler, sentence) => {
      const error = await failureOf(handler);
      expect(error).toBeInstanceOf(QueryError);
      expect(error).toMatchObject({
        code: 'handler_failed',
        detail: expect.stringMatching(sentence) as string,
      });
      expect((error as QueryError).detail).not.toContain('strict');
    });

    it('because of a tool that passes its errors on, has the error of the tool', async () => {
      const failing = (error: Error) =>
        tool({
          name: 'act',
          description: 'act',
          strict: false,
          parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
          errorFunction: null,
          execute: () => {
            throw error;
          },
        });
      const said = new QueryError('invalid_query', 'The city is not known.');
      const known = agentOf([calls('act')], { tools: [failing(said)] });
      expect(await failureOf(known.handler)).toBe(said);
      const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      const unknown = agentOf([calls('act')], { tools: [failing(reset)] });
      expect(await failureOf(unknown.handler)).not.toBeInstanceOf(QueryError);
    });

    it('without a word of the framework, is cut and not complete', async () => {
      const aborted = new DOMException('The request timed out.', 'AbortError');
      const model = {
        getResponse: () => Promise.reject(aborted),
        getStreamedResponse: async function* () {
          yield { type: 'output_text_delta' as const, delta: 'Hel' };
          throw aborted;
        },
      };
      // The framework says so on the console.
      const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
      const handler = fromOpenAIAgents(new Agent({ name: 'Silent', model }), { runner });
      expect(await failureOf(handler)).toMatchObject({ code: 'interrupted' });
      warn.mockRestore();
    });
  });

  it('shows a refusal of the model as its answer', async () => {
    const model = {
      getResponse: () => Promise.reject(new Error('not used')),
      getStreamedResponse: async function* () {
        const content = [{ type: 'refusal' as const, refusal: 'I cannot help with that.' }];
        const output = [
          { type: 'message' as const, role: 'assistant' as const, status: 'completed' as const, content },
        ];
        const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
        yield { type: 'response_done' as const, response: { id: 'r', usage, output } };
      },
    };
    const handler = fromOpenAIAgents(new Agent({ name: 'Prude', model }), { runner });
    expect(textOf(await ask(handler))).toBe('I cannot help with that.');
  });

  it('emits the files that tools return, and describes them in the result', async () => {
    const bytes = Buffer.from('the bytes');
    const image = { type: 'image', image: { data: new Uint8Array(bytes), mediaType: 'image/webp' } };
    const report = {
      type: 'file',
      file: { data: bytes.toString('base64'), mediaType: 'text/csv', filename: '../etc/a.csv' },
    };
    for (const [result, name, mimeType] of [
      [image, 'act.webp', 'image/webp'],
      [[{ type: 'text', text: 'See:' }, report], 'a.csv', 'text/csv'],
      [{ type: 'image', image: 'https://example.org/a.png' }, undefined, undefined],
    ] as const) {
      const tools = [toolOf({ execute: () => result })];
      const { handler } = agentOf([calls('act'), says('Done')], { tools });
      const answer = (await handler.handle(
        await queryOf('Draw'),
        await contextOf(),
      )) as AsyncIterable<Envelope>;
      const envelopes: Envelope[] = [];
      for await (const envelope of answer) envelopes.push(envelope);
      const [file] = ofType(envelopes, 'file');
      expect([file?.['name'], file?.['mimeType']]).toEqual([name, mimeType]);
      if (file) expect(bytes.equals(file['content'] as Uint8Array)).toBe(true);
      const [{ content }] = ofType(envelopes, 'tool_result') as [{ content: unknown }];
      expect(JSON.stringify(content)).toContain(name ?? 'example.org');
      expect(JSON.stringify(content).length).toBeLessThan(200);
    }
  });

  it('tells equal ids of calls in several turns apart', async () => {
    const call = (city: string) => [
      { type: 'tool_call', data: { id: 'call_0', name: 'act', arguments: { city } } },
      { type: 'tool_result', data: { id: 'call_0', content: { city } } },
      { type: 'message', data: { content: city } },
    ];
    const { model, handler } = agentOf([says('Hello')]);
    const turns = ['Paris', 'Rome'].map((city) => ({ question: city, answer: call(city) }));
    await ask(handler, 'Which?', await contextOf({ turns }));
    const seen = model.newest.messages.flatMap((message) => message.calls);
    expect(seen.map(({ arguments: args }) => args)).toEqual([{ city: 'Paris' }, { city: 'Rome' }]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(2);
  });

  it('says where a file of an earlier turn is no longer kept', async () => {
    const { model, handler } = agentOf([says('Hello')]);
    const file = { name: 'old.png', mimeType: 'image/png', content: Buffer.from('x') };
    const context = await contextOf({ turns: [{ question: ['See', file], answer: 'Yes' }] });
    context.session!.file = () => Promise.reject(new QueryError('not_found', 'gone'));
    await ask(handler, 'And now?', context);
    expect(model.newest.messages[0]).toMatchObject({
      files: [],
      text: expect.stringContaining('old.png') as string,
    });
  });

  it('gives files that the model does not take as texts', async () => {
    const { model, handler } = agentOf([says('Hello')]);
    const query: Query = await queryOf([
      { name: 'notes.md', mimeType: 'text/markdown', content: Buffer.from('# Notes') },
      { name: 'x.bin', mimeType: 'application/x-own', content: Buffer.from([0, 1, 2]) },
    ]);
    await collect(handler.handle(query, await contextOf()));
    const [question] = model.newest.messages;
    expect(question!.text).toContain('# Notes');
    expect(question!.text).toContain('x.bin');
    expect(question!.files).toEqual([]);
  });

  it('is chosen for each query by a function', async () => {
    const agents = { short: agentOf([says('Hi')]), long: agentOf([says('Good morning')]) };
    const choice = ({ kwargs }: Query) => agents[kwargs['style'] as 'short' | 'long'].agent;
    const handler = fromOpenAIAgents(choice, { runner });
    const answer = async (style: string) =>
      textOf(await collect(handler.handle(await queryOf('Hello', { style }), await contextOf())));
    expect([await answer('short'), await answer('long')]).toEqual(['Hi', 'Good morning']);
  });

  it('is of the copy of the framework for require too', async () => {
    const { Agent: RequiredAgent, Runner: RequiredRunner } = createRequire(import.meta.url)(
      '@openai/agents',
    ) as typeof import('@openai/agents');
    const model = new FakeFrameworkModel(new FakeModel([says('Hello')]));
    const agent = new RequiredAgent({ name: 'Main', model });
    expect(agent).not.toBeInstanceOf(Agent);
    const required = new RequiredRunner({ tracingDisabled: true });
    expect(textOf(await ask(fromOpenAIAgents(agent, { runner: required })))).toBe('Hello');
  });

  it('is refused if it is of no copy', async () => {
    const handler = fromOpenAIAgents({ name: 'Other' } as Agent, { runner });
    await expect(ask(handler)).rejects.toThrow('npm ls @openai/agents-core');
  });
});
