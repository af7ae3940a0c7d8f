import { type Message, TaskState } from '@a2a-js/sdk';
import { type Envelope, QueryError } from 'nest-agent-query';
import { HandedOver } from 'nest-agent-query/agents';
import { type ContextInput, contextOf, type PartsInput, queryOf } from 'nest-agent-query/testing';
import { IS_LONG } from '../../../test/support/long-form.js';
import { EventCutter } from '../../../test/support/event-cutter.js';
import { a2aHandler } from '../src/index.js';
import { answering, joined, outcomeOf } from './outcomes.js';
import { type Binding, part, ReferenceAgent, sent, text } from './reference-agent.js';

describe.each<[Binding, boolean]>([
  ['JSONRPC', true],
  ['HTTP+JSON', true],
  ['JSONRPC', false],
  ['HTTP+JSON', false],
])('An agent over %s, streaming %s', (binding, streaming) => {
  let reference: ReferenceAgent;

  beforeEach(async () => {
    reference = await ReferenceAgent.start({ binding, streaming });
  });

  afterEach(async () => {
    await reference.stop();
  });

  const ask = async (input: ContextInput = {}, query?: PartsInput, kwargs?: Record<string, unknown>) =>
    outcomeOf(a2aHandler({ url: reference.url }), await contextOf(input), query, kwargs);

  it('answers with a message', async () => {
    reference.script = (task) => task.reply([text('Hello '), text('you')]);
    const { envelopes, failure } = await ask();
    expect(failure).toBeUndefined();
    expect(joined(envelopes)).toEqual([
      { type: 'message', data: { id: expect.stringMatching(/^message-/), content: 'Hello you' } },
    ]);
  });

  it('answers with artifacts: texts in pieces, files, data and sources', async () => {
    reference.script = async (task) => {
      task.begin();
      task.works('Looking');
      await sent();
      task.artifact('a', [text('One ')]);
      await sent();
      task.artifact('a', [text('two')], true);
      task.artifact('b', [
        part({ $case: 'raw', value: Buffer.from('rows') }, 'rows.csv', 'text/csv; charset=x'),
      ]);
      task.artifact('c', [part({ $case: 'data', value: { sum: 1 } }), part({ $case: 'data', value: [2] })]);
      task.artifact('d', [part({ $case: 'url', value: 'https://example.com/report' }, 'Report')]);
      const cited = { url: 'https://example.com/cited', title: 'Cited' };
      task.artifact('sources', [part({ $case: 'data', value: cited })]);
      await sent();
      task.complete();
    };
    const { envelopes, failure } = await ask();
    expect(failure).toBeUndefined();
    const answer = joined(envelopes.filter(({ type }) => type !== 'log'));
    expect(answer).toEqual([
      { type: 'message', data: { id: 'a', content: 'One two' } },
      { type: 'file', data: { name: 'rows.csv', mimeType: 'text/csv', content: Buffer.from('rows') } },
      { type: 'result', data: { value: { sum: 1 } } },
      { type: 'data', data: { artifact: 'c', value: [2] } },
      { type: 'source', data: { url: 'https://example.com/report', title: 'Report' } },
      { type: 'source', data: { url: 'https://example.com/cited', title: 'Cited' } },
    ]);
    if (streaming) expect(envelopes[0]).toEqual({ type: 'log', data: { message: 'Looking' } });
  });

  it('asks in the words of the agent, and goes on with the answer', async () => {
    reference.script = (task) => {
      if (!task.isAnswer) {
        task.begin();
        task.artifact('a', [text('Let me see. ')]);
        task.status(TaskState.TASK_STATE_INPUT_REQUIRED, [text('Which quarter?')]);
        return;
      }
      task.begin();
      task.artifact('a', task.message.parts, true);
      task.complete();
    };
    const context = answering(await contextOf(), 'Q2');
    const { envelopes, failure } = await outcomeOf(a2aHandler({ url: reference.url }), context);
    expect(failure).toBeUndefined();
    expect(joined(envelopes)).toEqual([{ type: 'message', data: { id: 'a', content: 'Let me see. Q2' } }]);
    expect(context.questions).toEqual([
      expect.objectContaining({ kind: 'input', message: 'Which quarter?' }),
    ]);
    expect(reference.messages.map(({ taskId, parts }) => [taskId !== '', parts[0]!.content])).toEqual([
      [true, { $case: 'text', value: 'Hello' }],
      [true, { $case: 'text', value: 'Q2' }],
    ]);
  });

  it.each([
    [TaskState.TASK_STATE_FAILED, 'The remote agent failed. The service has logged the cause.'],
    [TaskState.TASK_STATE_REJECTED, 'The remote agent rejected the query. The service has logged the cause.'],
    [TaskState.TASK_STATE_CANCELED, 'The task was cancelled in the remote agent.'],
  ])(
    'whose task ends in state %s fails the run with a sentence that has nothing of the agent',
    async (state, detail) => {
      reference.script = (task) => {
        task.begin();
        task.artifact('a', [text('So far')]);
        task.status(state, [text('Traceback: http://10.0.0.1/secret')]);
      };
      const { envelopes, failure } = await ask();
      expect(joined(envelopes)).toEqual(
        streaming ? [{ type: 'message', data: { id: 'a', content: 'So far' } }] : [],
      );
      expect(failure).toBeInstanceOf(QueryError);
      const { code, message, cause } = failure as QueryError;
      expect([code, message]).toEqual(['handler_failed', detail]);
      expect((cause as Error).message).toContain('Traceback');
    },
  );

  it('gets texts and files as parts, kwargs as metadata, and sessions of owners as contexts', async () => {
    reference.script = (task) => task.reply([text('.')]);
    const file = { name: 'a.bin', mimeType: 'x/y', content: new Uint8Array([0, 255]) };
    const kwargs = { session_id: 's', tone: { dry: true } };
    const contexts = [
      { runId: 'r1', owner: 'ann', sessionId: 's' },
      { runId: 'r2', owner: 'ann', sessionId: 's' },
      { runId: 'r3', owner: 'ben', sessionId: 's' },
      { runId: 'r4', owner: 'ben' },
    ];
    for (const input of contexts) await ask(input, ['Hi', file], kwargs);
    const [first, second, third, fourth] = reference.messages.map(({ contextId }) => contextId);
    expect(second).toBe(first);
    expect(new Set([first, third, fourth]).size).toBe(3);
    expect(reference.messages.map(({ messageId }) => messageId)).toEqual(['r1', 'r2', 'r3', 'r4']);
    const [{ parts, metadata }] = reference.messages as [Message];
    expect(metadata).toEqual({ tone: { dry: true } });
    expect(parts.map(({ content, filename, mediaType }) => [content, filename, mediaType])).toEqual([
      [{ $case: 'text', value: 'Hi' }, '', ''],
      [{ $case: 'raw', value: Buffer.from([0, 255]) }, 'a.bin', 'x/y'],
    ]);
  });

  it('cancels the task when the run must stop, and leaves it alone for the next attempt', async () => {
    for (const isHandedOver of [false, true]) {
      reference.script = (task) => {
        task.begin();
        task.artifact('a', [text('.')]);
      };
      const context = await contextOf({ runId: `run-${isHandedOver}` });
      const answer = a2aHandler({ url: reference.url }).handle(await queryOf('x'), context);
      const iterator = (answer as AsyncIterable<Envelope>)[Symbol.asyncIterator]();
      await iterator.next();
      context.abort(isHandedOver ? new HandedOver() : new Error('Stop.'));
      await expect(iterator.next()).rejects.toThrow();
    }
    expect(reference.calls.filter((call) => /cancel/i.test(call))).toHaveLength(1);
  });

  it('is followed after a cut at every event, and its message is executed once', async () => {
    reference.script = async (task) => {
      task.begin();
      for (let piece = 0; piece < 6; piece += 1) {
        task.artifact('a', [text(`word ${piece} `)], piece > 0);
        await sent();
      }
      task.artifact('f', [part({ $case: 'raw', value: Buffer.from('x') }, 'x.txt', 'text/plain')]);
      task.artifact('r', [part({ $case: 'data', value: 7 })]);
      await sent();
      task.complete();
    };
    // The SDK reads the events; what follows a cut is the same for all bindings.
    const step = IS_LONG || (binding === 'JSONRPC' && streaming) ? 1 : 3;
    const cutter = await EventCutter.before(reference.origin);
    const url = reference.url.replace(reference.origin, cutter.url);
    for (let cut = 0; cut <= 10; cut += step) {
      reference.messages.length = 0;
      cutter.cuts = [Infinity, cut, 1, 2];
      const context = await contextOf({ runId: `cut-${cut}` });
      const { envelopes, failure } = await outcomeOf(a2aHandler({ url }), context);
      expect([cut, failure]).toEqual([cut, undefined]);
      const content = [0, 1, 2, 3, 4, 5].map((piece) => `word ${piece} `).join('');
      expect([cut, joined(envelopes)]).toEqual([
        cut,
        [
          { type: 'message', data: { id: 'a', content } },
          { type: 'file', data: { name: 'x.txt', mimeType: 'text/plain', content: Buffer.from('x') } },
          { type: 'result', data: { value: 7 } },
        ],
      ]);
      expect(reference.messages.map(({ messageId }) => messageId)).toEqual([`cut-${cut}`]);
    }
    await cutter.stop();
  });
});
