import {
  type Admission,
  message,
  reasoning,
  type RunRecord,
  toolCall,
  toolResult,
  type TurnAnswer,
  type TurnsPage,
  usage,
} from 'nest-agent-query';
import { KeptAnswer } from 'nest-agent-query/store-rules';
import {
  admit,
  admitTo,
  codeOf,
  COMPLETED,
  DONE,
  FAILED,
  finish,
  keptAnswer,
  logOf,
  store,
} from './opened-store.js';
import { describe, it, expect } from './runner.js';

/** The turns of a session. */
export function describeTurns(): void {
  describe('turns', () => {
    const parts: Admission['parts'] = [
      { type: 'text', text: 'What is this?' },
      { type: 'file', name: 'a.png', mimeType: 'image/png', size: 3, sha256: 'f'.repeat(64) },
    ];
    const page = async (after: number | undefined, limit: number, owner = 'anonymous') =>
      store.turns(owner, 's', { after, limit });

    it('contain the question, the answer, the end and the times', async () => {
      const { run } = await admitTo('s', { parts });
      const ended = await finish(run, FAILED, 'A pic\u0000ture \u{1f5bc} \ud800');
      expect(await page(undefined, 10)).toEqual({
        turns: [
          {
            runId: run.id,
            parts,
            ...keptAnswer('A pic\u0000ture \u{1f5bc} \ud800'),
            end: FAILED,
            createdAt: new Date(run.createdAt).toISOString(),
            endedAt: new Date(ended!.run.endedAt!).toISOString(),
          },
        ],
        last: 1,
        total: 1,
      });
    });

    it('are in the order in which their runs ended, and are read in pages', async () => {
      const runs: RunRecord[] = [];
      for (let i = 0; i < 5; i++) runs.push((await admitTo('s')).run);
      for (const index of [3, 0, 1, 4, 2]) await finish(runs[index]!, COMPLETED, `answer ${index}`);
      const texts = async (after: number | undefined, limit: number) => {
        const { turns, last, total } = (await page(after, limit))!;
        return [turns.map(({ text }) => Number(text.slice(7))), last, total];
      };
      expect(await texts(undefined, 10)).toEqual([[3, 0, 1, 4, 2], 5, 5]);
      expect(await texts(undefined, 2)).toEqual([[4, 2], 5, 5]);
      expect(await texts(0, 2)).toEqual([[3, 0], 2, 5]);
      expect(await texts(2, 2)).toEqual([[1, 4], 4, 5]);
      expect(await texts(4, 2)).toEqual([[2], 5, 5]);
      expect(await texts(5, 2)).toEqual([[], 5, 5]);
      expect(await texts(50, 2)).toEqual([[], 5, 5]);
    });

    it('are found by their runs, with their numbers', async () => {
      const runs: RunRecord[] = [];
      for (let i = 0; i < 3; i++) runs.push((await admitTo('s')).run);
      for (const index of [2, 0]) await finish(runs[index]!, COMPLETED, `answer ${index}`);
      for (const [number, index] of [2, 0].entries()) {
        const page = { after: number, limit: 1, cutTexts: true };
        const { turns } = (await store.turns('anonymous', 's', page))!;
        const found = await store.turn('anonymous', 's', runs[index]!.id);
        expect(found).toEqual({ turn: turns[0], number: number + 1 });
      }
      expect(await store.turn('anonymous', 's', runs[1]!.id)).toBeUndefined();
      expect(await store.turn('anonymous', 'other', runs[0]!.id)).toBeUndefined();
      expect(await store.turn('ann', 's', runs[0]!.id)).toBeUndefined();
    });

    it('are none before the first run of a session has ended', async () => {
      await admitTo('s');
      expect(await page(0, 10)).toEqual({ turns: [], last: 0, total: 0 });
    });

    it('do not exist for other owners', async () => {
      await finish((await admitTo('s', { owner: 'ann' })).run);
      expect(await page(0, 10)).toBeUndefined();
      expect(await store.queue('anonymous', 's')).toEqual([]);
      expect(await page(0, 10, 'ann')).toMatchObject({ total: 1 });
    });

    it('are not created for runs without a session', async () => {
      await finish((await admit()).run);
      expect(await page(0, 10)).toBeUndefined();
    });
  });

  it('returns the turns that fit into a length, but at least one', async () => {
    for (const text of ['a', 'b', 'c']) {
      const { run } = await admitTo('s');
      await store.end(run, COMPLETED, keptAnswer(text.repeat(10_000)));
    }
    const page = async (after: number | undefined, maxLength: number) => {
      const { turns, last, total } = (await store.turns('anonymous', 's', { after, limit: 9, maxLength }))!;
      return [turns.map(({ text }) => text[0]).join(''), last, total];
    };
    expect(await page(0, 25_000)).toEqual(['ab', 2, 3]);
    expect(await page(2, 25_000)).toEqual(['c', 3, 3]);
    expect(await page(0, 1)).toEqual(['a', 1, 3]);
    expect(await page(undefined, 25_000)).toEqual(['bc', 3, 3]);
    expect(await page(undefined, 1)).toEqual(['c', 3, 3]);
  });

  describe('the envelopes of a turn', () => {
    const ENVELOPES = [
      reasoning('Hm. \u0000', { id: 'r' }),
      message('Let me look. '),
      toolCall('1', 'look', { at: ['\ud800', null] }),
      toolResult('1', 'x'.repeat(10_000), { isError: true }),
      message('It is ', { id: 'm' }),
      { type: 'message', data: { content: 'blue', lang: 'en' } },
      message(''),
      usage({ inputTokens: 1, outputTokens: 2 }),
    ];
    const ANSWER = { text: 'Let me look. It is blue', envelopes: ENVELOPES };
    const turnsOf = async (page: Partial<TurnsPage> = {}) =>
      (await store.turns('anonymous', 's', { after: 0, limit: 9, ...page }))!.turns;
    const answerIn = async (answer: TurnAnswer) => store.end((await admitTo('s')).run, COMPLETED, answer);

    it('are kept and returned as they are', async () => {
      await answerIn(ANSWER);
      await answerIn(keptAnswer('Only text'));
      await answerIn(keptAnswer());
      await answerIn({ text: 'More', envelopes: [], envelopesTruncated: true });
      const kept = [
        ANSWER,
        keptAnswer('Only text'),
        keptAnswer(),
        { text: 'More', envelopes: [], envelopesTruncated: true },
      ];
      for (const cutTexts of [true, false]) {
        const turns = await turnsOf({ cutTexts });
        expect(turns).toMatchObject(kept);
        expect(turns.map(({ envelopesTruncated }) => envelopesTruncated)).toEqual([
          undefined,
          undefined,
          undefined,
          true,
        ]);
      }
      expect(await turnsOf({ after: undefined })).toMatchObject(kept);
    });

    it('count for the length of a page', async () => {
      for (let i = 0; i < 3; i++) await answerIn(ANSWER);
      for (const cutTexts of [true, false]) {
        expect(await turnsOf({ cutTexts, maxLength: 25_000 })).toHaveLength(2);
      }
    });

    it('have messages that end where the text ends that a page shows', async () => {
      const [first, second, third] = ['a', 'b', 'c'].map((letter) => letter.repeat(40 * 1024));
      const call = toolCall('1', 'look');
      await answerIn({
        text: `${first}${second}${third}`,
        envelopes: [message(first!), call, message(second!, { id: '2' }), message(third!)],
      });
      expect((await turnsOf({ cutTexts: true }))[0]!.envelopes).toEqual([
        message(first!),
        call,
        message('b'.repeat(24 * 1024), { id: '2' }),
        message(''),
      ]);
      expect((await turnsOf())[0]!.envelopes).toEqual([
        message(first!),
        call,
        message(second!, { id: '2' }),
        message(third!),
      ]);
    });

    it('do not change with what the handler has emitted', async () => {
      const call = toolCall('1', 'look', { at: 'here' });
      const answer = new KeptAnswer();
      answer.add(call, JSON.stringify(call));
      await answerIn(answer.value);
      (call.data.arguments as { at: string }).at = 'there';
      expect((await turnsOf())[0]!.envelopes).toEqual([toolCall('1', 'look', { at: 'here' })]);
    });
  });

  describe('erase', () => {
    it('removes the turns, runs, logs and idempotency keys of the session, and of no other session', async () => {
      const idempotency = { key: 'k', digest: '1' };
      const { run } = await admitTo('s', { idempotency });
      const other = (await admitTo('t')).run;
      const foreign = (await admitTo('s', { owner: 'ann' })).run;
      const alone = (await admit()).run;
      for (const each of [run, other, foreign, alone]) await finish(each);
      expect(await store.erase('anonymous', 's')).toBe(true);
      expect(await store.find('anonymous', run.id)).toBeUndefined();
      expect(await codeOf(() => store.read({ owner: 'anonymous', id: run.id }, 0))).toBe('not_found');
      expect(await store.turns('anonymous', 's', { after: 0, limit: 1 })).toBeUndefined();
      expect(await store.erase('anonymous', 's')).toBe(false);
      expect(await admitTo('s', { idempotency: { key: 'k', digest: '2' } })).toMatchObject({
        created: true,
      });
      for (const kept of [other, foreign, alone]) {
        expect(await logOf(kept)).toEqual([DONE]);
        if (!kept.sessionId) continue;
        expect(await store.turns(kept.owner, kept.sessionId, { after: 0, limit: 1 })).toMatchObject({
          total: 1,
        });
      }
    });

    it('refuses a session with a run that has not ended, and does not change it', async () => {
      await finish((await admitTo('s')).run);
      const { run } = await admitTo('s');
      expect(await codeOf(() => store.erase('anonymous', 's'))).toBe('session_busy');
      expect(await store.turns('anonymous', 's', { after: 0, limit: 1 })).toMatchObject({ total: 1 });
      await finish(run);
      expect(await store.erase('anonymous', 's')).toBe(true);
    });

    it('finds no session of another owner', async () => {
      await finish((await admitTo('s', { owner: 'ann' })).run);
      expect(await store.erase('bob', 's')).toBe(false);
      expect(await store.erase('ann', 'unknown')).toBe(false);
    });
  });
}
