import type { AnswerEnvelope } from 'nest-agent-query-client';
import { AnswerView } from './answer-view.js';

const message = (content: string, id?: string): AnswerEnvelope => ({
  type: 'message',
  data: { content, ...(id !== undefined && { id }) },
});

function viewOf(...envelopes: AnswerEnvelope[]): AnswerView {
  const view = new AnswerView();
  envelopes.forEach((envelope, index) => view.add(index + 1, envelope));
  return view;
}

describe('What an answer shows', () => {
  it('joins neighbouring chunks of a message, also with a log between them', () => {
    const log: AnswerEnvelope = { type: 'log', data: { message: 'Reading' } };
    const view = viewOf(message('One '), log, message('two'), message('three', 'b'));
    expect(view.items).toEqual([
      { kind: 'text', id: undefined, text: 'One two' },
      { kind: 'text', id: 'b', text: 'three' },
    ]);
    expect(view.logs).toEqual(['Reading']);
  });

  it('leaves out what a restart makes void, and goes on', () => {
    const call: AnswerEnvelope = { type: 'tool_call', data: { id: '1', name: 'add', arguments: {} } };
    const restarted: AnswerEnvelope = { type: 'restarted', data: { attempt: 2, from: 1 } };
    const view = viewOf(message('Kept. '), message('Void.'), call, restarted, message('Again.'));
    expect(view.text).toBe('Kept. Again.');
    expect(view.items).toHaveLength(1);
    expect(view.restarts).toBe(1);
  });

  it('starts again from nothing, more than once', () => {
    const restarted = (attempt: number): AnswerEnvelope => ({
      type: 'restarted',
      data: { attempt, from: 0 },
    });
    const view = viewOf(message('One'), restarted(2), message('Two'), restarted(3), message('Three'));
    expect([view.text, view.restarts]).toEqual(['Three', 2]);
  });

  it('shows the result at its call, and sums what models have used', () => {
    const used: AnswerEnvelope = { type: 'usage', data: { inputTokens: 2, outputTokens: 1, model: 'a' } };
    const view = viewOf(
      { type: 'tool_call', data: { id: '1', name: 'add', arguments: [1] } },
      message('Hm.'),
      { type: 'tool_result', data: { id: '1', content: 2 } },
      used,
      used,
    );
    expect(view.items[0]).toEqual({
      kind: 'tool',
      id: '1',
      name: 'add',
      arguments: [1],
      result: { content: 2, isError: false },
    });
    expect(view.usage).toEqual({ inputTokens: 4, outputTokens: 2, model: 'a' });
  });

  it('takes from a call what the interface names, and nothing else', () => {
    const data = {
      id: '1',
      name: 'add',
      arguments: {},
      kind: 'text',
      result: { content: 2, isError: false },
    };
    expect(viewOf({ type: 'tool_call', data }).items).toEqual([
      { kind: 'tool', id: '1', name: 'add', arguments: {} },
    ]);
  });

  it('shows what is asked in its place, and what has become of it', () => {
    const request = (id: string) => ({
      id,
      kind: 'input' as const,
      message: `${id}?`,
      expiresAt: '2026-11-25T10:00:00.000Z',
      onExpire: 'decline' as const,
    });
    const asked: AnswerEnvelope = {
      type: 'input_required',
      data: { requests: [request('a'), request('b')] },
    };
    const resolved = {
      id: 'a',
      outcome: 'answered' as const,
      value: 1,
      by: 'ann',
      at: '2026-11-25T09:00:00.000Z',
    };
    const view = viewOf(message('Hm.'), asked, { type: 'input_resolved', data: { answers: [resolved] } });
    expect(view.items).toEqual([
      { kind: 'text', id: undefined, text: 'Hm.' },
      { kind: 'request', request: request('a'), resolved, isSending: false },
      { kind: 'request', request: request('b') },
    ]);
    expect(view.open.map(({ request: { id } }) => id)).toEqual(['b']);
  });

  it('ignores types that it does not know', () => {
    const unknown = { type: 'mood', data: 'good' } as unknown as AnswerEnvelope;
    expect(viewOf(unknown, message('Hi')).text).toBe('Hi');
  });
});
