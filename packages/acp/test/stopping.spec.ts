import type { AgentHandler, Envelope } from 'nest-agent-query';
import { HandedOver } from 'nest-agent-query/agents';
import { contextOf, queryOf, type TestContext } from 'nest-agent-query/testing';
import { eventuallyElsewhere } from '../../../test/support/conditions.js';
import { IS_LONG } from '../../../test/support/long-form.js';
import { answerOf, dataOf, Scripted, textOf } from './scripted.js';

/** Agents that do not end by themselves. The second has what the third and the fourth have, and `e2e/acp.spec.ts` the last one. */
const STUBBORN = ['', 'deaf;stays;keeps;holds', ...(IS_LONG ? ['deaf', 'stays', 'withdraws;noise'] : [])];

describe('An agent of ACP that is stopped', () => {
  let scripted: Scripted;
  beforeEach(() => (scripted = new Scripted()));
  afterEach(() => scripted.end());

  /** Reads an answer, and does something with the run at the first envelope that has a text. */
  async function stoppedAt(
    handler: AgentHandler,
    script: string[],
    text: string,
    stop: (context: TestContext) => unknown,
    context: TestContext,
  ): Promise<Envelope[]> {
    const query = await queryOf(script.map((line) => `DO ${line}`).join('\n'));
    const envelopes: Envelope[] = [];
    try {
      for await (const envelope of (await handler.handle(query, context)) as AsyncIterable<Envelope>) {
        envelopes.push(envelope);
        if (JSON.stringify(envelope).includes(text)) await stop(context);
      }
    } catch (error) {
      if (!context.signal.aborted) throw error;
    }
    return envelopes;
  }

  it.each(STUBBORN)('in mid-answer leaves nothing: %s', async (is) => {
    const context = await contextOf();
    const script = ['say Hello', 'hold'];
    await stoppedAt(scripted.handler(is), script, 'Hello', () => context.abort(), context);
    expect(scripted.processes).toEqual([]);
  });

  it.each(STUBBORN)('while a command runs leaves nothing: %s', async (is) => {
    const context = await contextOf({ answers: { 'call-1-2': { approved: true } } });
    const script = ['read none', 'run sleep 1000'];
    const running = async () => {
      await eventuallyElsewhere(() => scripted.processes.length > 1);
      context.abort();
    };
    void running();
    await stoppedAt(scripted.handler(is), script, 'never', () => undefined, context);
    expect(scripted.processes).toEqual([]);
  });

  it.each(STUBBORN)('while it asks leaves nothing: %s', async (is) => {
    const context = await contextOf({ sessionId: 's' });
    const reason = new Error('The run is cancelled.');
    context.ask = () => {
      context.abort(reason);
      return Promise.reject(reason);
    };
    await stoppedAt(scripted.handler(is), ['write made x'], 'never', () => undefined, context);
    expect(scripted.processes).toEqual([]);
    const { envelopes } = await answerOf(scripted.handler(), ['read made'], undefined, { sessionId: 's' });
    expect(JSON.stringify(dataOf(envelopes, 'tool_result'))).toContain('made is not there');
  });

  it('by a reader that leaves is ended', async () => {
    const answer = await scripted.handler('deaf').handle(await queryOf('DO flood 100000'), await contextOf());
    for await (const envelope of answer as AsyncIterable<Envelope>) if (envelope) break;
    expect(scripted.processes).toEqual([]);
  });

  it('before it has begun is not started', async () => {
    const context = await contextOf();
    context.abort();
    await stoppedAt(scripted.handler(), ['say Hello'], 'never', () => undefined, context);
    expect(scripted.processes).toEqual([]);
  });

  it.each(IS_LONG ? ['mute', 'mute;deaf'] : ['mute;deaf'])(
    'while it starts leaves nothing: %s',
    async (is) => {
      const context = await contextOf();
      void eventuallyElsewhere(() => scripted.processes.length > 0).then(() => context.abort());
      await stoppedAt(scripted.handler(is), ['say Hello'], 'never', () => undefined, context);
      expect(scripted.processes).toEqual([]);
    },
  );

  it('goes on in another attempt with the recorded answer, and executes once', async () => {
    const first = await contextOf({ sessionId: 's', runId: 'run-1' });
    const asked: string[] = [];
    first.ask = async (questions, { checkpoint } = {}) => {
      asked.push(...questions.map(({ key }) => key));
      if (checkpoint !== undefined) await first.checkpoint(checkpoint);
      const reason = new HandedOver();
      first.abort(reason);
      throw reason;
    };
    const script = ['say Before. ', 'run echo once >> done; cat done', 'say After.'];
    const before = await stoppedAt(scripted.handler('keeps'), script, 'never', () => undefined, first);
    expect(scripted.processes).toEqual([]);
    const resumed = { attempt: 2, state: first.checkpoints.at(-1) };
    const question = script.map((line) => `DO ${line}`).join('\n');
    const keys: string[] = [];
    const { envelopes, error } = await answerOf(
      scripted.handler('keeps'),
      question,
      ({ key }) => {
        keys.push(key);
        return { approved: true };
      },
      { sessionId: 's', runId: 'run-1', resumed },
    );
    expect(error).toBeUndefined();
    expect(keys.filter((key) => !asked.includes(key))).toEqual([]);
    expect(textOf(before)).toBe('Before. ');
    expect(textOf(envelopes)).toBe('After.');
    const results = dataOf(envelopes, 'tool_result').filter(({ isError }) => isError !== true);
    expect(results.length).toBe(1);
    expect(JSON.stringify(results)).toContain('once\\n');
    expect(JSON.stringify(results)).not.toContain('once\\nonce');
  });

  it('asks anew in another attempt where the arguments differ', async () => {
    const first = await contextOf({ sessionId: 's', runId: 'run-1' });
    first.ask = async (_questions, { checkpoint } = {}) => {
      if (checkpoint !== undefined) await first.checkpoint(checkpoint);
      const reason = new HandedOver();
      first.abort(reason);
      throw reason;
    };
    const script = ['run echo once'];
    await stoppedAt(scripted.handler('changes'), script, 'never', () => undefined, first);
    const resumed = { attempt: 2, state: first.checkpoints.at(-1) };
    const questions: unknown[] = [];
    await answerOf(
      scripted.handler('changes'),
      'DO run echo once',
      (question) => {
        questions.push(question.arguments);
        return { approved: true };
      },
      { sessionId: 's', runId: 'run-1', resumed },
    );
    expect(questions).toContainEqual({ command: 'echo once # again' });
  });
});
