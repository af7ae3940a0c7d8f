import { IS_LONG, itInLongForm } from '../../../test/support/long-form.js';
import { answerOf, dataOf, NO, Scripted, textOf } from './scripted.js';

const ECHO = { command: 'echo hi' };
const USAGE = { inputTokens: 30, outputTokens: 9 };

/** How the agents begin, fill and name their calls: the switches, and what callers read of the call. */
const CALLS: [is: string, call: object][] = [
  ['filling', { id: 'call-1-1', name: 'execute', arguments: ECHO, title: 'echo hi', kind: 'execute' }],
  ['alone;bare', { id: 'call-1-1', arguments: ECHO }],
];

/** The forms that `translate/tool-calls.spec.ts` has without a process, and the scripts of `permissions.spec.ts`. */
const FURTHER_CALLS: typeof CALLS = [
  ['', { id: 'call-1-1', name: 'execute', arguments: ECHO, title: 'echo hi', kind: 'execute' }],
  ['filling;twice', { id: 'call-1-1', name: 'execute', arguments: ECHO, title: 'echo hi', kind: 'execute' }],
  ['named', { id: 'call-1-1', name: 'shell', arguments: ECHO, title: 'echo hi', kind: 'execute' }],
  ['alone', { id: 'call-1-1', name: 'execute', arguments: ECHO, title: 'echo hi', kind: 'execute' }],
];
if (IS_LONG) CALLS.push(...FURTHER_CALLS);

const USAGES: [is: string, usage: object[]][] = [
  ['usage=response', [{ ...USAGE, cachedInputTokens: 20, reasoningTokens: 4 }]],
  ['usage=chunk', [{ ...USAGE, cachedInputTokens: 20, reasoningTokens: 4 }]],
];

/** The forms that `translate/translation.spec.ts` has without a process. */
const FURTHER_USAGES: typeof USAGES = [
  ['usage=quota', [{ ...USAGE }]],
  ['usage=claude', [{ ...USAGE, cachedInputTokens: 20 }]],
  ['usage=none', []],
];
if (IS_LONG) USAGES.push(...FURTHER_USAGES);

/** What disturbs the answer. The last has the two others. */
const DISTURBED = IS_LONG ? ['noise', 'late', 'late;noise;ids'] : ['late;noise;ids'];

/** Agents that do not end a call which was not allowed. The first and the last have all that the others have. */
const UNTOLD = [
  'untold',
  ...(IS_LONG ? ['untold;alone', 'untold;rejected=end_turn', 'rejected=cancelled'] : []),
  'alone;untold;rejected=cancelled',
];

describe('What an agent of ACP says', () => {
  let scripted: Scripted;
  beforeEach(() => (scripted = new Scripted()));
  afterEach(() => scripted.end());

  it('is text and reasoning, and nothing of what is empty', async () => {
    const lines = ['say ""', 'think Hm', 'say "Hello\\n"', 'say World'];
    const { envelopes } = await answerOf(scripted.handler('ids'), lines);
    expect(envelopes).toEqual([
      { type: 'reasoning', data: { id: 'thought-1', content: 'Hm' } },
      { type: 'message', data: { id: 'message-1', content: 'Hello\n' } },
      { type: 'message', data: { id: 'message-1', content: 'World' } },
    ]);
  });

  it('comes whole and in order, however much it is', async () => {
    const { envelopes } = await answerOf(scripted.handler(), ['large 1000000', 'flood 3000', 'say end']);
    const numbers = Array.from({ length: 3000 }, (_, index) => `${index} `).join('');
    expect(textOf(envelopes)).toBe(`${'x'.repeat(1_000_000)}${numbers}end`);
  });

  it.each(DISTURBED)('is the same if it is %s', async (is) => {
    const { envelopes, error } = await answerOf(scripted.handler(is), ['say Hello', 'wait 40', 'say again']);
    expect(error).toBeUndefined();
    expect(textOf(envelopes)).toBe('Helloagain');
    expect(new Set(envelopes.map(({ type }) => type))).toEqual(new Set(['message']));
  });

  // `translate/translation.spec.ts` has it without a process, and `e2e/acp.spec.ts` over HTTP.
  itInLongForm('is a plan, which each update replaces', async () => {
    const plan = '[{"content":"Read","status":"pending","priority":"low"}]';
    const { envelopes } = await answerOf(scripted.handler(), [`plan ${plan}`]);
    expect(envelopes).toEqual([
      { type: 'plan', data: { entries: [{ content: 'Read', status: 'pending', priority: 'low' }] } },
    ]);
  });

  it('is a file or a source', async () => {
    const { envelopes } = await answerOf(scripted.handler(), ['image', 'link https://example.org/']);
    expect(envelopes.map(({ type }) => type)).toEqual(['file', 'source']);
    expect(dataOf(envelopes, 'file')).toMatchObject([{ mimeType: 'image/png' }]);
    expect(dataOf(envelopes, 'source')).toEqual([{ url: 'https://example.org/', title: 'A page' }]);
  });

  // `translate/translation.spec.ts` has it without a process.
  itInLongForm('is a log where it is a remark', async () => {
    const { envelopes } = await answerOf(scripted.handler(), ['remark Careful', 'say Hello']);
    expect(envelopes).toMatchObject([{ type: 'log', data: { message: 'Careful' } }, { type: 'message' }]);
  });

  it.each(USAGES)('tells its usage: %s', async (is, usage) => {
    const { envelopes } = await answerOf(scripted.handler(is), ['say Hello']);
    expect(dataOf(envelopes, 'usage')).toMatchObject(usage);
    expect(dataOf(envelopes, 'usage').length).toBe(usage.length);
  });

  it.each(CALLS)('tells a call once, with its arguments: %s', async (is, call) => {
    const { envelopes } = await answerOf(scripted.handler(is), ['run echo hi']);
    expect(envelopes.map(({ type }) => type)).toEqual(['tool_call', 'tool_result']);
    expect(dataOf(envelopes, 'tool_call')).toMatchObject([call]);
    expect(dataOf(envelopes, 'tool_result')).toMatchObject([{ id: 'call-1-1' }]);
    expect(JSON.stringify(dataOf(envelopes, 'tool_result')[0])).toContain('hi');
  });

  it('says what a call has changed, with paths of the folder', async () => {
    const { envelopes } = await answerOf(scripted.handler(), ['write notes.txt new', 'read notes.txt']);
    const diffs = [{ path: 'notes.txt', oldText: null, newText: 'new' }];
    const locations = [{ path: 'notes.txt', line: 1 }];
    expect(dataOf(envelopes, 'tool_call')[0]).toMatchObject({ name: 'edit', diffs, locations });
    expect(JSON.stringify(dataOf(envelopes, 'tool_result')[1])).toContain('new');
    expect(JSON.stringify(envelopes)).not.toContain(`"path":"${scripted.directory}`);
  });

  it.each(UNTOLD)('has an end for each call, also if the agent has none: %s', async (is) => {
    const { envelopes, error } = await answerOf(scripted.handler(is), ['run echo hi'], () => NO);
    expect(error).toBeUndefined();
    expect(dataOf(envelopes, 'tool_call')).toMatchObject([{ id: 'call-1-1', arguments: ECHO }]);
    expect(dataOf(envelopes, 'tool_result')).toMatchObject([{ id: 'call-1-1', isError: true }]);
  });

  it('has an end for a call that the agent leaves open', async () => {
    const { envelopes } = await answerOf(scripted.handler(), ['open Thinking', 'say Done']);
    expect(dataOf(envelopes, 'tool_result')).toMatchObject([{ id: 'call-1-1', isError: true }]);
  });
});
