import { jest } from '@jest/globals';
import type { Envelope, InputAnswer } from 'nest-agent-query-client';
import { answered, asks, quarter } from '../../../../test/support/asking.js';
import { ScriptedAgent } from '../../../../test/support/scripted-agent.js';
import { ticks } from '../../../../test/support/slow-run-store.js';
import { Spool } from '../../files/spool.js';
import { MemoryRunStore } from '../../memory/memory-run-store.js';
import { Settings } from '../../options/settings.js';
import { Clock } from '../../platform/clock.js';
import { AgentService } from '../agent.service.js';

const OWNER = 'anonymous';
const KEYS = ['a', 'b', 'c'];

/** Answers some of the questions, in this process or in another one. */
interface Answer {
  isHere: boolean;
  keys: string[];
}
const here = (...keys: string[]): Answer => ({ isHere: true, keys });
const elsewhere = (...keys: string[]): Answer => ({ isHere: false, keys });

const ALL_HERE = [[here('a'), here('b'), here('c')], [here('c', 'a'), here('b')], [here('b', 'c', 'a')]];
const SOME_ELSEWHERE = [
  [elsewhere('a'), here('b'), here('c')],
  [here('a'), elsewhere('b'), here('c')],
  [here('c'), here('b'), elsewhere('a')],
  [elsewhere('c', 'a', 'b')],
];

describe('The turn of a run that has asked', () => {
  const store = new MemoryRunStore();
  const scripted = new ScriptedAgent();
  const read = jest.spyOn(store, 'read');
  const open = jest.spyOn(store, 'open');
  let agent: AgentService;
  let sessions = 0;
  beforeAll(async () => {
    const settings = new Settings({});
    agent = new AgentService(store, { handle: scripted.handler }, settings, await Spool.open(), new Clock());
    await agent.onApplicationBootstrap();
  });

  /** Lets a run ask, and answers it. Its turn must have what the log has. Returns how often the log was read for that. */
  const readsOf = async (answers: Answer[], isInSession = true) => {
    const session = `s${++sessions}`;
    const kwargs = isInSession ? { session_id: session } : {};
    const { run } = await agent.query({ parts: [{ type: 'text', text: session }], kwargs }).admitted;
    const id = run!.id;
    const call = await scripted.callFor(session);
    read.mockClear();
    const resolved = asks(
      call,
      KEYS.map((key) => quarter({ key })),
    );
    while ((await agent.find(OWNER, id)).status !== 'input_required') await ticks(1);
    for (const { isHere, keys } of answers) {
      const given: InputAnswer[] = keys.map((key) => answered(key, key.toUpperCase()));
      if (isHere) await agent.inputs.answer(OWNER, id, given);
      else store.inputs.answer({ owner: OWNER, id }, { answers: given, by: OWNER, detached: false });
    }
    // The other process tells that the run waits.
    open.mock.calls[0]![0].ready();
    expect((await resolved).map(({ value }) => value)).toEqual(['A', 'B', 'C']);
    const reads = read.mock.calls.length;
    call.finish();
    while (!(await agent.find(OWNER, id)).endedAt) await ticks(1);
    const log = store.read({ owner: OWNER, id }, 0).lines.split('\n').slice(0, -1);
    if (!isInSession) return reads;
    const { turn } = (await agent.turn(OWNER, session, id))!;
    const kept = turn.envelopes.map((envelope: Envelope) => JSON.stringify(envelope));
    expect(kept).toHaveLength(1 + answers.length);
    expect(kept).toEqual(log);
    return reads;
  };

  it.each(ALL_HERE.map((answers) => [answers]))(
    'has the answers without a read if this process was told of all of them',
    async (answers) => {
      expect(await readsOf(answers)).toBe(0);
    },
  );

  it.each(SOME_ELSEWHERE.map((answers) => [answers]))(
    'has the answers of other processes in their order',
    async (answers) => {
      expect(await readsOf(answers)).toBe(1);
    },
  );

  it('is not kept without a session, and nothing is read for it', async () => {
    expect(await readsOf([elsewhere('a', 'b', 'c')], false)).toBe(0);
  });
});
