import { message, toolCall, toolResult } from 'nest-agent-query';
import type { Envelope } from 'nest-agent-query';
import { MessageForm, type Shown } from './message-form.js';

const restarted = (from: number): Envelope => ({ type: 'restarted', data: { attempt: 2, from } });
const asking: Envelope = {
  type: 'input_required',
  data: { requests: [{ id: 'q', kind: 'input', message: '?', expiresAt: '', onExpire: 'decline' }] },
};
const resolved: Envelope = {
  type: 'input_resolved',
  data: { answers: [{ id: 'q', outcome: 'answered', value: 'x', by: 'a', at: '' }] },
};
const DONE: Envelope = { type: 'done', data: { status: 'completed' } };

/** What a client gets that follows a run while these envelopes come. */
function followed(version: 6 | 7, envelopes: Envelope[], shown: Partial<Shown> = {}) {
  const form = new MessageForm({ runId: 'r', version, since: 0, answeredUpTo: 0, voids: [], ...shown });
  const lines = envelopes.map((envelope) => JSON.stringify(envelope)).join('\n');
  const { text } = form.framesOf({ first: 1, count: envelopes.length, lines, endOffset: 0, ended: false });
  const types = [...text.matchAll(/^data: (?:\{"type":")?([^"\n]+)/gm)].map(([, type]) => type);
  return { types, untold: form.untold, isOver: form.isOver };
}

const VOID = ['start', 'start-step', 'text-start', 'text-delta'];

describe('A client that follows a run which is executed again', () => {
  it.each([6, 7] as const)('goes on, if nothing that it has is void (version %s)', (version) => {
    const { types, untold } = followed(version, [message('a'), restarted(1), message('b'), DONE]);
    expect(untold).toBeUndefined();
    expect(types).toEqual([
      ...VOID,
      'text-end',
      ...['text-start', 'text-delta', 'text-end', 'finish-step'],
      ...['finish', '[DONE]'],
    ]);
  });

  it('is disconnected without a finish, if it has void chunks and knows no chunk that says so', () => {
    const cut = followed(6, [message('a'), restarted(0), message('b'), DONE]);
    expect(cut).toEqual({ types: VOID, untold: [1, 2], isOver: true });
  });

  it('is told to empty the step, if that is all that is void (version 7)', () => {
    const reset = followed(7, [message('a'), restarted(0), message('b'), DONE]);
    expect(reset.types).toEqual([
      ...VOID,
      'reset-step',
      ...['text-start', 'text-delta', 'text-end', 'finish-step', 'finish', '[DONE]'],
    ]);
    // A call that was void is known no more.
    const call = followed(7, [toolCall('c', 'x'), restarted(0), toolResult('c', 1), DONE]);
    expect(call.types).toEqual([
      ...['start', 'start-step', 'tool-input-available', 'reset-step'],
      ...['finish-step', 'finish', '[DONE]'],
    ]);
  });

  it.each([
    ['a part of the step is valid', [message('a'), message('b'), restarted(1)], [2, 3]],
    [
      'another step is void too',
      [toolCall('c', 'x'), toolResult('c', 1), message('a'), restarted(0)],
      [1, 4],
    ],
    ['a question is void too', [asking, resolved, message('a'), restarted(0)], [1, 4]],
    [
      'the result of a call of another step is void too',
      [toolCall('c', 'x'), asking, resolved, message('a'), toolResult('c', 1), restarted(3)],
      [4, 6],
    ],
  ])('is disconnected where %s (version 7)', (_, envelopes, untold) => {
    const cut = followed(7, [...envelopes, DONE], { answeredUpTo: 2 });
    expect(cut).toMatchObject({ untold, isOver: true });
    expect(cut.types).not.toContain('finish');
  });

  it('is not shown what is known to be void, questions included', () => {
    const all = [message('a'), toolCall('c', 'x'), asking, resolved, restarted(1), toolResult('c', 1), DONE];
    expect(followed(6, all, { answeredUpTo: 5, voids: [[2, 5]] }).types).toEqual([
      ...VOID,
      'text-end',
      ...['finish-step', 'finish', '[DONE]'],
    ]);
  });
});
