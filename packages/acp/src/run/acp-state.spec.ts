import { mergeCall, newCall } from '../translate/known-call.js';
import { markOf } from './acp-state.js';

const markWith = (rawInput: object) => {
  const toolCall = { title: 'Delete a customer', kind: 'other', rawInput };
  const call = newCall('c1');
  mergeCall(call, toolCall, '/');
  return markOf({ toolCall }, call);
};

describe('The answer to a question of a lost process', () => {
  it('is for the same call when only what names and dates it differs, or the order of its arguments', () => {
    const first = markWith({ call_id: '1', started_at_ms: 1, command: ['rm'], where: { a: 1, b: 2 } });
    expect(markWith({ where: { b: 2, a: 1 }, command: ['rm'], call_id: '2', started_at_ms: 9 })).toBe(first);
  });

  it.each([
    [{ id: 1 }, { id: 2 }],
    [{ customer_id: 1 }, { customer_id: 2 }],
    [{ fileIds: ['a'] }, { fileIds: ['b'] }],
    [{ starts_at: '9:00' }, { starts_at: '10:00' }],
    [{ of: { call_id: 1 } }, { of: { call_id: 2 } }],
    [
      ['a', 'b'],
      ['b', 'a'],
    ],
  ])('is not for a call with other arguments: %j and %j', (one, other) => {
    expect(markWith(one)).not.toBe(markWith(other));
  });
});
