import { readFile } from 'node:fs/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { AdapterOptions } from 'nest-agent-query-adapters';
import {
  type AgentHandler,
  type Envelope,
  HandedOver,
  type Query,
  type QueryContext,
  QueryError,
} from '../../src/query/index.js';
import { collect, contextOf, queryOf, type TestContext, type TurnInput } from '../../src/testing/index.js';
import { eventually } from '../support/conditions.js';
import { ADAPTER_CASES, type AdapterCase } from './adapters/cases.js';
import { FakeModel, type ModelAct, type ModelStep } from './adapters/fake-model.js';
import type { AdapterHarness, FakeTool } from './adapters/harness.js';

const FIXTURES = new URL('../fixtures/files/', import.meta.url);
const USAGE = { inputTokens: 12, outputTokens: 5 };
const END: ModelAct = { type: 'end', usage: USAGE };
const SECRET = 'sk-secret-0123456789';

/** Asks about the weather in Paris. */
const CALL = { id: 'call-1', name: 'weather', arguments: { city: 'Paris' } };
const WEATHER = { celsius: 21, sky: 'clear' };

/** How an endpoint refuses, and what the caller reads of it. */
const REFUSALS: [what: string, status: number, body: string, code: string, says: RegExp][] = [
  ['a refused key', 401, `{"error":{"message":"Bad key ${SECRET}"}}`, 'handler_failed', /credential/],
  ['too many requests', 429, '{"error":{"message":"Slow down"}}', 'rate_limited', /too many requests/],
  ['an unknown model', 404, '{"error":{"message":"No such model"}}', 'handler_failed', /does not know/],
  ['an overloaded endpoint', 503, '{"error":{"message":"Overloaded"}}', 'unavailable', /try again/i],
  [
    'a context that is too long',
    400,
    '{"error":{"code":"context_length_exceeded","message":"This model\'s maximum context length is 8192 tokens"}}',
    'limit_exceeded',
    /longer than the model/,
  ],
];

const text = (content: string): ModelAct => ({ type: 'text', text: content });
const says = (...texts: string[]): ModelStep => ({ acts: [...texts.map(text), END] });
const calls = (...before: ModelAct[]): ModelStep => ({ acts: [...before, { type: 'call', ...CALL }, END] });

const ofType = (envelopes: Envelope[], type: string) =>
  envelopes.filter((envelope) => envelope.type === type).map(({ data }) => data as Record<string, unknown>);
const textOf = (envelopes: Envelope[]) =>
  ofType(envelopes, 'message')
    .map(({ content }) => content)
    .join('');

/**
 * Checks that an adapter translates what its framework does, and passes on what a query contains.
 *
 * @param harness the adapter, with its framework and a fake model
 */
export function adapterContract(harness: AdapterHarness): void {
  describe(`The adapter ${harness.name}`, () => {
    let toolCalls: Record<string, unknown>[];
    let weather: FakeTool;

    beforeEach(() => {
      toolCalls = [];
      weather = {
        name: 'weather',
        execute: (args) => {
          toolCalls.push(args);
          return WEATHER;
        },
      };
    });

    const can = (name: AdapterCase, test: () => Promise<void>) => {
      const reason = harness.cannot[name];
      if (reason === undefined) it(ADAPTER_CASES[name], test);
      else it.skip(`${ADAPTER_CASES[name]}: ${reason}`, test);
    };
    const start = async (steps: ModelStep[], tools: FakeTool[] = [], options: AdapterOptions = {}) => {
      const model = new FakeModel(steps);
      return { model, handler: await harness.create(model, tools, options) };
    };
    const answer = (handler: AgentHandler, query: Query, context: QueryContext) =>
      collect(handler.handle(query, context));
    /** Reads until the answer fails, and returns what came before. */
    const failing = async (handler: AgentHandler, query: Query, context: QueryContext) => {
      const envelopes: Envelope[] = [];
      const read = async () => {
        for await (const envelope of await iterableOf(handler, query, context)) envelopes.push(envelope);
      };
      const error = await read().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      return { envelopes, error };
    };
    const turn = (question: TurnInput['question'], envelopes: Envelope[]): TurnInput => ({
      question,
      answer: envelopes,
    });

    can('text', async () => {
      const { model, handler } = await start([says('The capital ', 'is ', 'Paris.')]);
      const envelopes = await answer(handler, await queryOf('What is the capital?'), await contextOf());
      expect(ofType(envelopes, 'message').map(({ content }) => content)).toEqual([
        'The capital ',
        'is ',
        'Paris.',
      ]);
      const asked = model.newest.messages.filter(({ role }) => role === 'user');
      expect(asked.map(({ text: asks }) => asks)).toEqual(['What is the capital?']);
    });

    can('reasoning', async () => {
      const acts: ModelAct[] = [
        { type: 'reasoning', text: 'They ask ' },
        { type: 'reasoning', text: 'for a city.' },
      ];
      const { handler } = await start([{ acts: [...acts, text('Paris'), END] }]);
      const envelopes = await answer(handler, await queryOf('The capital?'), await contextOf());
      const thoughts = ofType(envelopes, 'reasoning');
      expect(thoughts.map(({ content }) => content).join('')).toBe('They ask for a city.');
      expect(new Set(thoughts.map(({ id }) => id)).size).toBe(1);
      expect(thoughts[0]!['id']).toEqual(expect.any(String));
      expect(textOf(envelopes)).toBe('Paris');
    });

    can('toolCall', async () => {
      const { model, handler } = await start([calls(), says('It is 21 degrees.')], [weather]);
      const envelopes = await answer(handler, await queryOf('The weather?'), await contextOf());
      const order = envelopes.map(({ type }) => type).filter((type) => type !== 'usage' && type !== 'log');
      expect(order).toEqual(['tool_call', 'tool_result', 'message']);
      expect(ofType(envelopes, 'tool_call')).toEqual([
        { id: expect.any(String), name: 'weather', arguments: { city: 'Paris' } },
      ]);
      const [result] = ofType(envelopes, 'tool_result');
      expect(result!['id']).toBe(ofType(envelopes, 'tool_call')[0]!['id']);
      expect(meant(result!['content'])).toEqual(WEATHER);
      expect(result!['isError']).not.toBe(true);
      expect(toolCalls).toEqual([{ city: 'Paris' }]);
      expect(model.requests[0]!.tools).toEqual(['weather']);
      expect(JSON.stringify(model.newest.messages)).toContain('celsius');
    });

    can('repeatedIds', async () => {
      const { handler } = await start([calls(), calls(), says('It is 21 degrees.')], [weather]);
      const earlier = ['tool_call', 'tool_result'].map((type) => ({
        type,
        data: { id: CALL.id, name: CALL.name, arguments: CALL.arguments, content: WEATHER },
      }));
      const context = await contextOf({ sessionId: 'a', turns: [turn('Before?', earlier)] });
      const envelopes = await answer(handler, await queryOf('The weather?'), context);
      const ids = ofType(envelopes, 'tool_call').map(({ id }) => id);
      expect(new Set([CALL.id, ...ids]).size).toBe(3);
      expect(ofType(envelopes, 'tool_result').map(({ id }) => id)).toEqual(ids);
    });

    can('toolError', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
      const broken = {
        ...weather,
        execute: () => {
          throw new Error(`Cannot connect to https://user:${SECRET}@weather.internal`);
        },
      };
      const { handler } = await start([calls(), says('I do not know.')], [broken]);
      const envelopes = await answer(handler, await queryOf('The weather?'), await contextOf());
      expect(ofType(envelopes, 'tool_result')).toEqual([
        { id: expect.any(String), content: expect.anything(), isError: true },
      ]);
      expect(textOf(envelopes)).toBe('I do not know.');
      expect(JSON.stringify(envelopes)).not.toContain(SECRET);
      warn.mockRestore();
    });

    can('sources', async () => {
      const act: ModelAct = { type: 'source', url: 'https://example.org/paris', title: 'Paris' };
      const { handler } = await start([{ acts: [act, text('Paris'), END] }]);
      const envelopes = await answer(handler, await queryOf('The capital?'), await contextOf());
      expect(ofType(envelopes, 'source')).toEqual([{ url: 'https://example.org/paris', title: 'Paris' }]);
    });

    can('usage', async () => {
      const usage = { inputTokens: 30, outputTokens: 9, reasoningTokens: 4, cachedInputTokens: 20 };
      const last: ModelStep = { acts: [text('21'), { type: 'end', usage }] };
      const { handler } = await start([calls(), last], [weather]);
      const envelopes = await answer(handler, await queryOf('The weather?'), await contextOf());
      const [first, second, ...rest] = ofType(envelopes, 'usage');
      expect(first).toMatchObject({ ...USAGE, model: FakeModel.MODEL_ID });
      expect(second).toMatchObject({ ...usage, model: FakeModel.MODEL_ID });
      expect(rest).toEqual([]);
    });

    can('fileIn', async () => {
      const files = [
        await fixture('picture.png', 'image/png'),
        await fixture('report.pdf', 'application/pdf'),
      ];
      const { model, handler } = await start([says('A picture and a report')]);
      await answer(handler, await queryOf(['What is this?', ...files]), await contextOf());
      const seen = model.newest.messages.at(-1)!;
      expect(seen.role).toBe('user');
      expect(seen.text).toContain('What is this?');
      expect(seen.files.map(({ mimeType }) => mimeType)).toEqual(['image/png', 'application/pdf']);
      for (const [index, { content }] of files.entries())
        expect(Buffer.from(seen.files[index]!.bytes).equals(content)).toBe(true);
    });

    can('fileOut', async () => {
      const { content } = await fixture('picture.png', 'image/png');
      const act: ModelAct = { type: 'file', mimeType: 'image/png', bytes: content };
      const { handler } = await start([{ acts: [text('Here it is.'), act, END] }]);
      const iterable = await iterableOf(handler, await queryOf('Draw'), await contextOf());
      const envelopes: Envelope[] = [];
      for await (const envelope of iterable) envelopes.push(envelope);
      const [file, ...others] = ofType(envelopes, 'file');
      expect(others).toEqual([]);
      expect(file!['mimeType']).toBe('image/png');
      expect(file!['name']).toMatch(/\.png$/);
      const bytes = await new Response(file!['content'] as Uint8Array<ArrayBuffer>).arrayBuffer();
      expect(Buffer.from(bytes).equals(content)).toBe(true);
    });

    can('callInText', async () => {
      const { handler } = await start(
        [calls(text('Let me look. ')), says('It is ', '21 degrees.')],
        [weather],
      );
      const envelopes = await answer(handler, await queryOf('The weather?'), await contextOf());
      const order = envelopes.map(({ type }) => type).filter((type) => type !== 'usage' && type !== 'log');
      expect(order).toEqual(['message', 'tool_call', 'tool_result', 'message', 'message']);
      expect(textOf(envelopes)).toBe('Let me look. It is 21 degrees.');
    });

    can('cutInCall', async () => {
      const begun: ModelAct = { type: 'callBegin', id: 'call-1', name: 'weather', argumentsText: '{"ci' };
      const { model, handler } = await start([{ acts: [text('Wait. '), begun], then: 'break' }], [weather]);
      const { envelopes, error } = await failing(handler, await queryOf('The weather?'), await contextOf());
      expect(textOf(envelopes)).toBe('Wait. ');
      expect(ofType(envelopes, 'tool_call')).toEqual([]);
      expect(toolCalls).toEqual([]);
      expect(model.requests.length).toBe(1);
      expect(error).toBeInstanceOf(QueryError);
      expect(error).toMatchObject({ code: 'interrupted' });
      expect((error as QueryError).detail).not.toContain('10.1.2.3');
    });

    can('cancel', async () => {
      const { model, handler } = await start([{ acts: [text('The cap')], then: 'hold' }]);
      const context = await contextOf();
      const envelopes: Envelope[] = [];
      for await (const envelope of await iterableOf(handler, await queryOf('The capital?'), context)) {
        envelopes.push(envelope);
        context.abort();
      }
      expect(textOf(envelopes)).toBe('The cap');
      await eventually(() => model.newest.isAborted);
    });

    can('secondTurn', async () => {
      const steps = [calls(), says('It is 21 degrees.'), says('Yes, warm.')];
      const { model, handler } = await start(steps, [weather]);
      const first = await answer(
        handler,
        await queryOf('The weather?'),
        await contextOf({ sessionId: 'a', runId: 'run-1' }),
      );
      const turns = [turn('The weather?', first)];
      const context = await contextOf({ sessionId: 'a', runId: 'run-2', turns });
      await answer(handler, await queryOf('Is that warm?'), context);
      const { messages } = model.newest;
      const asked = messages.findIndex(({ calls: made }) => made.length > 0);
      const told = messages.findIndex(({ results }) => results.length > 0);
      expect(messages[asked]!.calls).toEqual([
        { id: expect.any(String), name: 'weather', arguments: { city: 'Paris' } },
      ]);
      expect(messages[told]!.results[0]!.id).toBe(messages[asked]!.calls[0]!.id);
      expect(JSON.stringify(messages[told]!.results)).toContain('celsius');
      expect(told).toBe(asked + 1);
      expect(messages.at(-1)).toMatchObject({ role: 'user', text: 'Is that warm?' });
      expect(messages.filter(({ results }) => results.length > 0).length).toBe(1);
    });

    can('history', async () => {
      const { model, handler } = await start([says('Hello Ada'), says('Ada, and a picture')]);
      const picture = await fixture('picture.png', 'image/png');
      const question = ['My name is Ada', picture];
      const first = await answer(
        handler,
        await queryOf(question),
        await contextOf({ sessionId: 'a', runId: 'run-1' }),
      );
      const context = await contextOf({ sessionId: 'a', runId: 'run-2', turns: [turn(question, first)] });
      await answer(handler, await queryOf('Who am I?'), context);
      const spoken = model.newest.messages.filter(({ role }) => role !== 'system');
      expect(spoken.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
      expect(spoken[0]!.text).toContain('My name is Ada');
      expect(Buffer.from(spoken[0]!.files[0]!.bytes).equals(picture.content)).toBe(true);
      expect(spoken[1]!.text).toBe('Hello Ada');
    });

    can('failedQuestion', async () => {
      const picture = await fixture('picture.png', 'image/png');
      const asked = ['What is this?', picture];
      const refuse = { status: 400, body: '{"error":{"message":"The image cannot be decoded"}}' };
      const refused: ModelStep = { acts: [], refuse };
      const steps = [says('Hello Ada'), refused, refused, says('Hello'), says('Yes')];
      const { model, handler } = await start(steps);
      const turns: TurnInput[] = [];
      const ask = async (question: TurnInput['question']) => {
        const context = await contextOf({ sessionId: 'a', runId: `turn-${turns.length + 1}`, turns });
        const { envelopes, error } = await failing(handler, await queryOf(question), context);
        turns.push({ question, answer: envelopes, end: endOf(error) });
        return error;
      };
      await ask('My name is Ada');
      expect((await ask(asked)) as QueryError).toMatchObject({
        code: 'handler_failed',
        detail:
          'The endpoint of the model refused the request with the status 400. Ask again without the files, or in other ' +
          'words: what was refused is not sent again. The service has logged the cause.',
      });
      expect(await ask('And now?')).toBeInstanceOf(QueryError);
      expect(await ask('Say hello')).toBeUndefined();
      const known = ['My name is Ada', 'Hello Ada'];
      expect(spokenTo(model)).toEqual([...known, 'Say hello']);
      expect(filesFor(model)).toBe(0);
      expect(await ask('Am I Ada?')).toBeUndefined();
      expect(spokenTo(model)).toEqual([...known, 'Say hello', 'Hello', 'Am I Ada?']);
    });

    can('failedAnswer', async () => {
      const question = ['What is this?', await fixture('picture.png', 'image/png')];
      const cut: ModelStep = { acts: [text('It is a '), END], then: 'break' };
      const { model, handler } = await start([cut, says('A tree'), says('Green')]);
      const session = { sessionId: 'a' };
      const first = await failing(
        handler,
        await queryOf(question),
        await contextOf({ ...session, runId: 'turn-1' }),
      );
      expect(textOf(first.envelopes)).toBe('It is a ');
      const turns = [{ question, answer: first.envelopes, end: endOf(first.error) }];
      await answer(handler, await queryOf('Go on'), await contextOf({ ...session, runId: 'turn-2', turns }));
      const before = ['What is this?[The file "picture.png" is not shown again.]', 'It is a '];
      expect(spokenTo(model)).toEqual([...before, 'Go on']);
      expect(filesFor(model)).toBe(0);
      const more = [...turns, { question: 'Go on', answer: 'A tree' }];
      const third = await contextOf({ ...session, runId: 'turn-3', turns: more });
      await answer(handler, await queryOf('The colour?'), third);
      expect(spokenTo(model)).toEqual([...before, 'Go on', 'A tree', 'The colour?']);
    });

    can('contextTokens', async () => {
      const turns = [
        { question: 'The first question', answer: 'The first answer' },
        { question: `Read this: ${'x'.repeat(3_000)}`, answer: 'It is long' },
        { question: 'My name is Ada', answer: 'Hello Ada' },
      ];
      const { model, handler } = await start([says('Ada')], [], { contextTokens: 1_000 });
      const context = await contextOf({ sessionId: 'a', turns });
      const envelopes = await answer(handler, await queryOf('Who am I?'), context);
      expect(envelopes[0]).toEqual({
        type: 'log',
        data: { message: 'The model is not shown the oldest 2 turns of the session' },
      });
      const spoken = model.newest.messages.filter(({ role }) => role !== 'system');
      expect(spoken.map((said) => said.text)).toEqual(['My name is Ada', 'Hello Ada', 'Who am I?']);
      expect(() => harness.create(model, [], { contextTokens: 0 })).toThrow(RangeError);
    });

    can('erasure', async () => {
      const { model, handler } = await start([says('Hello Ada'), says('I do not know')]);
      const session = { sessionId: 'a', owner: 'ann' };
      await answer(handler, await queryOf('My name is Ada'), await contextOf({ ...session, runId: 'run-1' }));
      await handler.sessionErased?.({ owner: 'ann', id: 'a' });
      await answer(handler, await queryOf('Who am I?'), await contextOf({ ...session, runId: 'run-2' }));
      expect(JSON.stringify(model.newest.messages)).not.toContain('Ada');
    });

    can('checkpoint', async () => {
      const steps: ModelStep[] = [calls(text('Let me look. ')), { acts: [text('It')], then: 'hold' }];
      const first = await start(steps, [weather]);
      const context = await contextOf({ sessionId: 'a' });
      const query = await queryOf('The weather?');
      const before: Envelope[] = [];
      // How many envelopes came before the newest checkpoint: these are kept.
      let kept = 0;
      let stored = 0;
      for await (const envelope of await iterableOf(first.handler, query, context)) {
        if (context.checkpoints.length > stored) kept = before.length;
        stored = context.checkpoints.length;
        before.push(envelope);
        if (textOf(before).endsWith('It')) context.abort(new HandedOver());
      }
      expect(context.checkpoints.length).toBeGreaterThan(0);
      expect(before.slice(0, kept).map(({ type }) => type)).toContain('tool_result');
      expect(first.handler.restarts).toBeGreaterThan(0);

      const second = await start([says('It is 21 degrees.')], [weather]);
      const state = context.checkpoints.at(-1);
      const resumed = await contextOf({ sessionId: 'a', resumed: { attempt: 2, state } });
      const after = await answer(second.handler, query, resumed);
      expect(toolCalls.length).toBe(1);
      expect(textOf([...before.slice(0, kept), ...after])).toBe('Let me look. It is 21 degrees.');
      const { messages } = second.model.newest;
      expect(messages.filter(({ role }) => role === 'user').length).toBe(1);
      expect(messages.some(({ calls: made }) => made.length === 1)).toBe(true);
      expect(messages.at(-1)!.results.length).toBe(1);

      const third = await start([], [weather]);
      const last = { attempt: 3, state: resumed.checkpoints.at(-1) };
      if (last.state === undefined) return;
      const rest = await answer(third.handler, query, await contextOf({ sessionId: 'a', resumed: last }));
      expect(textOf(rest)).toBe('');
    });

    can('errors', async () => {
      for (const [what, status, body, code, sentence] of REFUSALS) {
        const { handler } = await start([{ acts: [], refuse: { status, body } }]);
        const { envelopes, error } = await failing(handler, await queryOf('Hello'), await contextOf());
        expect([what, error]).toEqual([what, expect.any(QueryError)]);
        const { code: found, detail } = error as QueryError;
        expect([what, found]).toEqual([what, code]);
        expect(detail).toMatch(sentence);
        expect(detail).not.toContain(SECRET);
        expect(textOf(envelopes)).toBe('');
      }
      const { handler } = await start([{ acts: [text('Hel')], then: 'break' }]);
      const { envelopes, error } = await failing(handler, await queryOf('Hello'), await contextOf());
      expect(textOf(envelopes)).toBe('Hel');
      expect(error).toMatchObject({ code: 'interrupted' });
    });

    can('backPressure', async () => {
      const count = 5_000;
      const { model, handler } = await start([
        { acts: [...Array.from({ length: count }, (_, index) => text(`${index} `)), END] },
      ]);
      const context = await contextOf();
      const iterable = await iterableOf(handler, await queryOf('Count'), context);
      const iterator = iterable[Symbol.asyncIterator]();
      for (let read = 0; read < 10; read++) await iterator.next();
      await ticks(200);
      expect(model.newest.taken).toBeLessThan(count / 5);
      context.abort();
      await iterator.return?.();
      await eventually(() => model.newest.isAborted);
    });
  });
}

function endOf(error: unknown): NonNullable<TurnInput['end']> {
  if (!(error instanceof QueryError)) return { status: 'completed' };
  return { status: 'failed', error: { code: error.code, message: error.detail } };
}

/** The texts of the newest request, in order. */
function spokenTo(model: FakeModel): string[] {
  return model.newest.messages.filter(({ role }) => role !== 'system').map((said) => said.text);
}

/** How many files the newest request has. */
function filesFor(model: FakeModel): number {
  return model.newest.messages.flatMap(({ files }) => files).length;
}

/** What a tool result says: some frameworks show it as JSON. */
function meant(content: unknown): unknown {
  if (typeof content !== 'string') return content;
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return content;
  }
}

async function iterableOf(
  handler: AgentHandler,
  query: Query,
  context: QueryContext | TestContext,
): Promise<AsyncIterable<Envelope>> {
  return (await handler.handle(query, context)) as AsyncIterable<Envelope>;
}

async function fixture(name: string, mimeType: string) {
  return { name, mimeType, content: await readFile(new URL(name, FIXTURES)) };
}

/** Lets everything happen that can happen without anybody waiting for it. */
async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
}
