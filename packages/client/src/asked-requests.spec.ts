import type { Envelope, InputRequest } from './index.js';
import { AskedRequests, usageSum } from './streams.js';

const requestOf = (id: string): InputRequest => ({
  id,
  kind: 'approval',
  message: 'May it?',
  expiresAt: '2026-11-25T10:00:00.000Z',
  onExpire: 'decline',
});
const asks = (...ids: string[]): Envelope => ({
  type: 'input_required',
  data: { requests: ids.map(requestOf) },
});
const answers = (...ids: string[]): Envelope => ({
  type: 'input_resolved',
  data: { answers: ids.map((id) => ({ id, outcome: 'declined', by: 'me', at: '2026-11-24T10:00:00.000Z' })) },
});
const text: Envelope = { type: 'message', data: { content: 'Hello' } };
const restarted: Envelope = { type: 'restarted', data: { attempt: 2, from: 0 } };
const done: Envelope = { type: 'done', data: { status: 'completed' } };

describe('The requests of a log', () => {
  it.each<[string, Envelope[], { open: string[]; resolved: string[]; goesOn: boolean }]>([
    ['are none at the beginning', [text], { open: [], resolved: [], goesOn: false }],
    ['are open when asked', [text, asks('a', 'b')], { open: ['a', 'b'], resolved: [], goesOn: false }],
    [
      'stay open without an answer of their own',
      [asks('a', 'b'), answers('b')],
      { open: ['a'], resolved: ['b'], goesOn: false },
    ],
    [
      'are resolved in the order of their answers',
      [asks('a', 'b'), answers('b'), text, answers('a')],
      { open: [], resolved: ['b', 'a'], goesOn: true },
    ],
    [
      'are of one pause if they are asked while others are open',
      [asks('a'), asks('b'), answers('a', 'b')],
      { open: [], resolved: ['a', 'b'], goesOn: true },
    ],
    [
      'are of another pause if they are asked later',
      [asks('a'), answers('a'), text, asks('b')],
      { open: ['b'], resolved: [], goesOn: false },
    ],
    [
      'ignore an answer to what is not open',
      [asks('a'), answers('x', 'a'), answers('a')],
      { open: [], resolved: ['a'], goesOn: true },
    ],
    ['are closed by a restart', [asks('a'), restarted], { open: [], resolved: [], goesOn: false }],
    ['are closed by the end', [asks('a'), done], { open: [], resolved: [], goesOn: false }],
  ])('%s', (_, envelopes, expected) => {
    const asked = new AskedRequests();
    const goesOn = envelopes.map((envelope) => asked.read(envelope)).at(-1);
    const open = asked.open.map(({ id }) => id);
    const resolved = asked.resolved.map(([{ id }]) => id);
    expect({ open, resolved, goesOn }).toEqual(expected);
  });
});

describe('The sum of usage', () => {
  it('has the counts of all, and the model that was named last', () => {
    const first = { inputTokens: 1, outputTokens: 2, model: 'one', reasoningTokens: 3 };
    const sum = usageSum(usageSum(undefined, first), {
      inputTokens: 10,
      outputTokens: 20,
      cachedInputTokens: 5,
    });
    expect(sum).toEqual({
      ...{ inputTokens: 11, outputTokens: 22, reasoningTokens: 3, cachedInputTokens: 5 },
      model: 'one',
    });
    expect(first.inputTokens).toBe(1);
  });
});
