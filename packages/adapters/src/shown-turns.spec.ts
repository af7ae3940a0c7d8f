import { message, toolCall, toolResult } from 'nest-agent-query';
import { contextOf, queryOf, type TurnInput } from 'nest-agent-query/testing';
import { adapterSettings, openTurns, readConversation } from './index.js';

const FAILED = { status: 'failed', error: { code: 'handler_failed', message: 'Refused' } } as const;
const CANCELLED = { status: 'cancelled' } as const;

const completed = (question: string): TurnInput => ({ question, answer: `About ${question}` });
const refused = (question: string): TurnInput => ({ question, end: FAILED });

/** What a model is told: each question, and `>` before each answer. */
async function told(turns: TurnInput[]): Promise<string[]> {
  const read = await readConversation(await queryOf('now'), await contextOf({ turns }), adapterSettings({}));
  const textOf = (parts: { type: string; text?: string }[]) => parts.map(({ text }) => text).join('+');
  return [
    ...read.turns.flatMap(({ parts, steps }) => [textOf(parts), ...steps.map(({ text }) => `>${text}`)]),
    textOf(read.question),
  ];
}

describe('readConversation', () => {
  it('leaves out a turn that failed before its answer, wherever it is', async () => {
    expect(await told([refused('a'), completed('b'), refused('c'), refused('d')])).toEqual([
      ...['b', '>About b', 'now'],
    ]);
  });

  it('joins a question that was cancelled before its answer with the next one', async () => {
    const cancelled = { question: 'b', end: CANCELLED };
    expect(await told([completed('a'), cancelled])).toEqual(['a', '>About a', 'b+now']);
  });

  it('leaves out a question that was sent with one that was refused', async () => {
    const cancelled = { question: 'b', end: CANCELLED };
    expect(await told([completed('a'), cancelled, refused('c')])).toEqual(['a', '>About a', 'now']);
  });

  it('keeps an answer that was cancelled before a refused question', async () => {
    const stopped = { question: 'a', answer: 'Half', end: CANCELLED };
    expect(await told([stopped, refused('b')])).toEqual(['a', '>Half', 'now']);
  });

  it('leaves out an answer that failed, if the question after it was refused', async () => {
    const failed = { question: 'a', answer: 'Half', end: FAILED };
    expect(await told([failed])).toEqual(['a', '>Half', 'now']);
    expect(await told([failed, refused('b')])).toEqual(['now']);
    expect(await told([failed, refused('b'), completed('c')])).toEqual(['c', '>About c', 'now']);
  });

  it('takes reasoning for no answer', async () => {
    const thought = [{ type: 'reasoning', data: { content: 'Hm', id: '1' } }];
    expect(await told([{ question: 'a', answer: thought, end: FAILED }])).toEqual(['now']);
  });

  it('keeps the calls of an answer that failed, and not the results that the model had not answered to', async () => {
    const envelopes = [
      ...[toolCall('1', 'find', {}), toolResult('1', 'read'), message('Found')],
      ...[toolCall('2', 'refund', { amount: 5 }), toolResult('2', 'unread')],
    ];
    const turns = [{ question: 'a', answer: envelopes, end: FAILED }];
    const read = await readConversation(await queryOf('b'), await contextOf({ turns }), adapterSettings({}));
    expect(read.turns[0]!.steps.map(({ text, calls }) => [text, calls.map(({ result }) => result)])).toEqual([
      ['', ['read']],
      ['Found', ['The call was made. Its result is not shown again, because the answer failed after it.']],
    ]);
    expect(read.turns[0]!.steps[1]!.calls[0]).toMatchObject({ name: 'refund', arguments: { amount: 5 } });
  });
});

describe('openTurns', () => {
  it('has the turns after the newest one that was completed', async () => {
    const turns = [
      completed('a'),
      refused('b'),
      completed('c'),
      refused('d'),
      { ...refused('e'), answer: 'x' },
    ];
    const { history } = await contextOf({ turns });
    expect(openTurns(history).map(({ runId }) => runId)).toEqual(['turn-4', 'turn-5']);
    expect(openTurns(history.slice(0, 3))).toEqual([]);
  });
});
