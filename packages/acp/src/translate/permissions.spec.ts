import type { ResolvedInput } from 'nest-agent-query';
import { mergeCall, newCall } from './known-call.js';
import { outcomeOf, questionOf } from './permissions.js';

const option = (optionId: string, kind: string, name = optionId) => ({ optionId, kind, name });
const asked = (...options: unknown[]) => ({ sessionId: 's', toolCall: { toolCallId: 'c1' }, options });

/** As gemini orders them. */
const USUAL = asked(
  option('always', 'allow_always'),
  option('once', 'allow_once'),
  option('no', 'reject_once'),
);
const TWO = asked(
  option('a', 'allow_once', 'Edit'),
  option('b', 'allow_once', 'Edit'),
  option('all', 'allow_always', 'Always'),
  option('no', 'reject_once', 'No'),
);
const ONLY_ALWAYS = asked(option('always', 'allow_always'), option('no', 'reject_once'));

function callOf(members: object) {
  const call = newCall('c1');
  mergeCall(call, members as Record<string, unknown>, '/srv/project');
  return call;
}

function answer(members: Partial<ResolvedInput>): ResolvedInput {
  return { id: 'c1', outcome: 'answered', by: 'ann', at: '2026-11-30T00:00:00.000Z', ...members };
}

const CALL = callOf({ title: 'Edit /srv/project/a.ts', kind: 'edit', rawInput: { path: 'a.ts' } });

describe('A permission that an agent asks for', () => {
  it('is an approval with the title, the arguments of call and request, and a key of its own', () => {
    const call = callOf({ title: 'Edit /srv/project/a.ts', kind: 'edit', rawInput: { path: 'a.ts' } });
    mergeCall(call, { rawInput: { diff: '-a' } }, '/srv/project');
    expect(questionOf(USUAL, call, ['c1'])).toEqual({
      key: 'c1:2',
      kind: 'approval',
      message: 'Edit ./a.ts',
      name: 'edit',
      arguments: { path: 'a.ts', diff: '-a' },
      toolCallId: 'c1',
    });
  });

  it('says what it is about if it has no title and no kind', () => {
    const { message } = questionOf(USUAL, callOf({ rawInput: { command: 'ls' } }))!;
    expect(message).toBe('May the agent call the tool "tool" with {"command":"ls"}?');
    expect(questionOf(USUAL, callOf({}))!.message).toBe('May the agent call the tool "tool"?');
  });

  it.each([
    ['approved', answer({ value: { approved: true } }), { outcome: 'selected', optionId: 'once' }],
    ['not approved', answer({ value: { approved: false } }), { outcome: 'selected', optionId: 'no' }],
    ['answered with another value', answer({ value: 'yes' }), { outcome: 'selected', optionId: 'no' }],
    ['declined', answer({ outcome: 'declined' }), { outcome: 'selected', optionId: 'no' }],
    ['expired', answer({ outcome: 'expired' }), { outcome: 'selected', optionId: 'no' }],
    ['allowed by the service', true, { outcome: 'selected', optionId: 'once' }],
    ['refused by the service', false, { outcome: 'selected', optionId: 'no' }],
  ])('is answered with what holds once: %s', (_, given, outcome) => {
    expect(outcomeOf(USUAL, given)).toEqual(outcome);
  });

  it('is cancelled where the agent offers no refusal', () => {
    expect(outcomeOf(asked(option('once', 'allow_once')), false)).toEqual({ outcome: 'cancelled' });
  });

  it('is a choice of names if its options are more than a yes and a no', () => {
    const question = questionOf(TWO, CALL);
    expect(question).toMatchObject({ kind: 'input', schema: { enum: ['Edit', 'Edit:2', 'No'] } });
    expect(question).not.toHaveProperty('arguments');
    const chosen = (value: unknown) => outcomeOf(TWO, answer({ value }));
    expect(chosen('Edit:2')).toEqual({ outcome: 'selected', optionId: 'b' });
    expect(chosen('No')).toEqual({ outcome: 'selected', optionId: 'no' });
    for (const value of ['Always', { approved: true }, undefined])
      expect(chosen(value)).toEqual({ outcome: 'selected', optionId: 'no' });
  });

  it('is not asked if only `allow_always` could allow it', () => {
    expect(questionOf(ONLY_ALWAYS, CALL)).toBeUndefined();
    expect(outcomeOf(ONLY_ALWAYS, true)).toEqual({ outcome: 'selected', optionId: 'no' });
    expect(outcomeOf(USUAL, true)).toEqual({ outcome: 'selected', optionId: 'once' });
  });

  it('is not asked, and is cancelled, if its options cannot be read', () => {
    for (const params of [
      undefined,
      {},
      { options: 5 },
      asked(null, { optionId: 5 }, option('x', 'maybe')),
    ]) {
      expect(questionOf(params, CALL)).toBeUndefined();
      expect(outcomeOf(params, true)).toEqual({ outcome: 'cancelled' });
    }
  });
});
