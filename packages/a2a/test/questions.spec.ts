import { TaskState } from '@a2a-js/sdk';
import type { QueryError } from 'nest-agent-query';
import { contextOf } from 'nest-agent-query/testing';
import { a2aHandler } from '../src/index.js';
import { answering, joined, outcomeOf } from './outcomes.js';
import { part, ReferenceAgent, type ScriptedTask, text } from './reference-agent.js';

const { TASK_STATE_INPUT_REQUIRED: INPUT, TASK_STATE_AUTH_REQUIRED: AUTH } = TaskState;

describe('A task that asks', () => {
  let reference: ReferenceAgent;

  beforeEach(async () => {
    reference = await ReferenceAgent.start();
  });
  afterEach(() => reference.stop());

  async function asked(ask: (task: ScriptedTask) => void, value: unknown) {
    reference.script = (task) => {
      task.begin();
      if (!task.isAnswer) return ask(task);
      task.artifact('a', [text('Done.')]);
      task.complete();
    };
    const context = answering(await contextOf(), value);
    const outcome = await outcomeOf(a2aHandler({ url: reference.url }), context);
    return {
      ...outcome,
      questions: context.questions,
      answer: reference.messages[1]?.parts.map((p) => p.content),
    };
  }

  it('with named requests is asked here under the same ids, and gets data', async () => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const request = {
      id: 'refund',
      kind: 'approval',
      message: 'Refund?',
      name: 'refund',
      arguments: {},
      expiresAt,
    };
    const value = { approved: true };
    const { questions, answer, failure } = await asked(
      (task) =>
        task.status(INPUT, [text('Refund?'), part({ $case: 'data', value: { requests: [request] } })]),
      value,
    );
    expect([failure, questions]).toEqual([
      undefined,
      [expect.objectContaining({ key: 'refund', kind: 'approval', message: 'Refund?', name: 'refund' })],
    ]);
    const answers = [{ id: 'refund', outcome: 'answered', value }];
    expect(answer).toEqual([{ $case: 'data', value: { answers } }]);
  });

  it.each<[string, Parameters<ScriptedTask['status']>, unknown, object, string]>([
    ['a text', [INPUT, [text('Which?')]], 'Q2', { kind: 'input', message: 'Which?' }, 'Q2'],
    [
      'nothing',
      [INPUT, []],
      'Q2',
      { kind: 'input', message: 'The remote agent needs an answer to go on.' },
      'Q2',
    ],
    [
      'what is declined',
      [INPUT, [text('?')]],
      undefined,
      { kind: 'input' },
      'The user does not want to answer.',
    ],
    [
      'to sign in, with a URL in its text',
      [AUTH, [text('Go to https://login.example.com/x please')]],
      {},
      { kind: 'auth', url: 'https://login.example.com/x' },
      'The user has signed in.',
    ],
    [
      'to sign in, with a URL as a part',
      [AUTH, [part({ $case: 'url', value: 'https://login.example.com/y' })]],
      {},
      { kind: 'auth', url: 'https://login.example.com/y' },
      'The user has signed in.',
    ],
    [
      'to sign in nowhere',
      [AUTH, [text('Sign in')]],
      'I did',
      { kind: 'input', message: 'Sign in' },
      'I did',
    ],
  ])('%s is asked here, and gets a text', async (_, status, value, question, words) => {
    const { questions, answer, failure, envelopes } = await asked((task) => task.status(...status), value);
    expect([failure, questions]).toEqual([undefined, [expect.objectContaining(question)]]);
    expect(answer).toEqual([{ $case: 'text', value: words }]);
    expect(joined(envelopes)).toEqual([{ type: 'message', data: { id: 'a', content: 'Done.' } }]);
  });

  it('several times gets each answer', async () => {
    reference.script = (task) => {
      task.begin();
      if (reference.messages.length < 4) task.status(INPUT, [text('Again?')]);
      else task.complete();
    };
    const context = answering(await contextOf(), 'yes');
    const { failure } = await outcomeOf(a2aHandler({ url: reference.url }), context);
    expect([failure, context.questions.length, reference.messages.length]).toEqual([undefined, 3, 4]);
    expect(new Set(context.questions.map(({ key }) => key)).size).toBe(3);
  });

  it('something that is not valid fails the run', async () => {
    const requests = [null];
    const { failure } = await asked(
      (task) => task.status(INPUT, [part({ $case: 'data', value: { requests } })]),
      'x',
    );
    expect((failure as QueryError).code).toBe('invalid_envelope');
  });
});

describe('What a task says besides its artifacts', () => {
  it('is told as log and progress, and a last message without artifacts is the answer', async () => {
    const reference = await ReferenceAgent.start();
    reference.script = (task) => {
      task.begin();
      task.works('Reading');
      const data = { done: 3, total: 9, unit: 3, label: 'Pages' };
      task.status(TaskState.TASK_STATE_WORKING, [part({ $case: 'data', value: { type: 'progress', data } })]);
      task.status(TaskState.TASK_STATE_COMPLETED, [text('42')]);
    };
    const { envelopes } = await outcomeOf(a2aHandler({ url: reference.url }), await contextOf());
    expect(envelopes).toEqual([
      { type: 'log', data: { message: 'Reading' } },
      { type: 'progress', data: { done: 3, total: 9, label: 'Pages' } },
      { type: 'message', data: { id: expect.stringMatching(/^message-/), content: '42' } },
    ]);
    await reference.stop();
  });
});
