import type { Question } from 'nest-agent-query';
import { collect, contextOf, queryOf } from 'nest-agent-query/testing';
import { itInLongForm } from '../../../test/support/long-form.js';
import { answerOf, dataOf, NO, Scripted, textOf, YES } from './scripted.js';

describe('A permission request of an agent of ACP', () => {
  let scripted: Scripted;
  beforeEach(() => (scripted = new Scripted()));
  afterEach(() => scripted.end());

  it('is an approval, after the call that it is about', async () => {
    const { context, envelopes } = await answerOf(scripted.handler(), ['run echo hi', 'say Done']);
    expect(context.questions).toEqual([
      {
        key: 'call-1-1',
        kind: 'approval',
        message: 'echo hi',
        toolCallId: 'call-1-1',
        name: 'execute',
        arguments: { command: 'echo hi' },
      },
    ]);
    expect(dataOf(envelopes, 'tool_result')).toMatchObject([{ id: 'call-1-1' }]);
    expect(textOf(envelopes)).toBe('Done');
  });

  it('is refused, and the call is not made', async () => {
    const handler = scripted.handler();
    const { envelopes } = await answerOf(handler, ['write made x', 'read made'], () => NO);
    expect(textOf(envelopes)).toBe('I did not.');
    expect(JSON.stringify(dataOf(envelopes, 'tool_result')[1])).toContain('made is not there');
  });

  // `translate/permissions.spec.ts` has it without a process, and `updates.spec.ts` what such an agent tells.
  itInLongForm('says what it is about, without a title and a kind', async () => {
    const { context } = await answerOf(scripted.handler('alone;bare'), ['run echo hi']);
    expect(context.questions[0]).toMatchObject({ kind: 'approval', arguments: { command: 'echo hi' } });
    expect(context.questions[0]!.message).toMatch(/echo hi/);
  });

  it('comes with others, each with its own answer', async () => {
    const answers = ({ arguments: args }: Question) =>
      (args as { command: string }).command === 'echo b' ? YES : NO;
    const { context, envelopes } = await answerOf(scripted.handler(), ['both echo a && echo b'], answers);
    expect(context.pauses).toBe(1);
    expect(context.questions.map(({ key }) => key)).toEqual(['call-1-1', 'call-1-2']);
    const [first, second] = dataOf(envelopes, 'tool_result');
    expect([first!['isError'], second!['isError']]).toEqual([true, undefined]);
  });

  it('of a child session belongs to the run', async () => {
    const { context, envelopes } = await answerOf(scripted.handler(), ['child echo hi', 'say Done']);
    expect(context.questions).toMatchObject([{ kind: 'approval', arguments: { command: 'echo hi' } }]);
    expect(envelopes.map(({ type }) => type)).toEqual(['tool_call', 'tool_result', 'message']);
  });

  it('may come while another one waits for its answer', async () => {
    const context = await contextOf();
    let asks = 0;
    context.ask = async (questions) => {
      // The second request comes before the first answer.
      if (++asks === 1) await new Promise((resolve) => setTimeout(resolve, 300));
      context.questions.push(...questions);
      const at = '2000-01-01T00:00:00.000Z';
      return questions.map(({ key }) => ({ id: key, outcome: 'answered', value: YES, by: 'ann', at }));
    };
    const answer = scripted.handler().handle(await queryOf('DO stagger echo a && echo b'), context);
    const envelopes = await collect(answer);
    expect(context.questions.map(({ key }) => key)).toEqual(['call-1-1', 'call-1-2']);
    expect(dataOf(envelopes, 'tool_result').map(({ isError }) => isError)).toEqual([undefined, undefined]);
  });

  it('that nobody waits for does not hold the run', async () => {
    const { envelopes, error } = await answerOf(scripted.handler(), ['abandon echo late', 'say Done']);
    expect(error).toBeUndefined();
    expect(textOf(envelopes)).toBe('Done');
  });

  it('with more choices than yes and no asks for one of them', async () => {
    const seen: Question[] = [];
    const answers = (question: Question) => {
      seen.push(question);
      return 'Allow once, with edits';
    };
    const { envelopes } = await answerOf(scripted.handler('choices=two'), ['run echo hi'], answers);
    expect(seen).toMatchObject([
      { kind: 'input', schema: { enum: ['Allow once', 'Allow once, with edits', 'Reject'] } },
    ]);
    expect(dataOf(envelopes, 'tool_result')[0]!['isError']).toBeUndefined();
  });

  it('is never answered with what would allow more than this call', async () => {
    const { envelopes } = await answerOf(scripted.handler('choices=always'), ['run echo hi']);
    expect(dataOf(envelopes, 'tool_result')).toMatchObject([{ isError: true }]);
  });

  it('after the answer does not hold the run, nor is it asked', async () => {
    const { context, envelopes, error } = await answerOf(scripted.handler('slow-end=0'), [
      'say Done',
      'after echo late',
    ]);
    expect(error).toBeUndefined();
    expect(context.questions).toEqual([]);
    expect(dataOf(envelopes, 'tool_result')).toEqual([]);
  });

  it('is answered by the host where it wants to', async () => {
    const approve = (call: { arguments?: unknown }) =>
      JSON.stringify(call).includes('echo ok')
        ? true
        : JSON.stringify(call).includes('echo bad')
          ? false
          : undefined;
    const handler = scripted.handler('', { approve });
    const script = ['run echo ok', 'run echo bad', 'run echo other'];
    const { context, envelopes } = await answerOf(handler, script);
    expect(context.questions).toMatchObject([{ arguments: { command: 'echo other' } }]);
    expect(dataOf(envelopes, 'tool_result').map(({ isError }) => isError)).toEqual([
      undefined,
      true,
      undefined,
    ]);
  });
});
