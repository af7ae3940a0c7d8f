import { type Envelope, type QueryContext, toolCall, toolResult } from 'nest-agent-query';
import { collect, contextOf } from 'nest-agent-query/testing';
import { distinctCalls } from './index.js';

const called = (id: string) => toolCall(id, 't', {});
const ended = (id: string) => toolResult(id, 'r');
const idOf = ({ data }: Envelope) => (data as { id: string }).id;
const idsOf = async (context: QueryContext, answer: (run: QueryContext) => AsyncIterable<Envelope>) =>
  (await collect(distinctCalls(context, answer))).map(idOf);

/** Makes a call with an id that the session has had, asks about it, and stores a state. */
async function* oneStep(run: QueryContext) {
  yield called('call_0');
  await run.ask([{ key: 'k', kind: 'approval', message: 'May I?', toolCallId: 'call_0' }], {
    checkpoint: { step: 1 },
  });
}

describe('Calls with an id that the session has had', () => {
  const turns = [{ question: 'Go', answer: [called('call_0'), ended('call_0')] }];

  it('get ids of their own, with their results and questions', async () => {
    const context = await contextOf({ turns });
    const ids = await idsOf(context, async function* (run) {
      yield* oneStep(run);
      yield ended('call_0');
      yield called('call_0');
      yield called('call_0');
      yield ended('call_0');
      yield ended('call_0');
      yield called('b');
      yield ended('unknown');
    });
    const [first, , second, third] = ids;
    expect(ids).toEqual([first, first, second, third, second, third, 'b', 'unknown']);
    expect(new Set(['call_0', first, second, third]).size).toBe(4);
    expect(first).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(context.questions).toMatchObject([{ toolCallId: first }]);
  });

  it('keep them in the next attempt, whose calls get others', async () => {
    const context = await contextOf({ turns });
    const [first] = await idsOf(context, oneStep);
    const state = context.checkpoints[0];
    let resumed: QueryContext['resumed'];
    const second = await contextOf({ turns, resumed: { attempt: 2, state } });
    const ids = await idsOf(second, async function* (run) {
      resumed = run.resumed;
      yield ended('call_0');
      yield called('call_0');
    });
    expect(resumed).toEqual({ attempt: 2, state: { step: 1 } });
    expect(ids[0]).toBe(first);
    expect(['call_0', first]).not.toContain(ids[1]);
  });

  it('leave a state as it is while there are none', async () => {
    const context = await contextOf();
    await idsOf(context, async function* (run) {
      await run.checkpoint({ step: 0 });
      yield* [];
    });
    expect(context.checkpoints).toEqual([{ step: 0 }]);
  });
});
