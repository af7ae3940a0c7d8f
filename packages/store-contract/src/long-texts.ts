import { createHash } from 'node:crypto';
import { admitTo, COMPLETED, keptAnswer, store } from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** What a page says of a text that it shows cut. */
function detailsOf(text: string) {
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { truncated: true, size: Buffer.byteLength(text), sha256 };
}

/** Texts that pages of turns show cut. */
export function describeLongTexts(): void {
  describe('long texts', () => {
    // 64 KiB are cut in the middle of a character of three bytes.
    const question = `q${'漢'.repeat(30_000)}`;
    const answer = '\u0000"\\ü'.repeat(20_000);
    const shownQuestion = { text: question.slice(0, 1 + 21_845), ...detailsOf(question) };
    const shownAnswer = { text: answer.slice(0, 52_429), ...detailsOf(answer) };
    const parts = [
      { type: 'text' as const, text: 'short' },
      { type: 'text' as const, text: question },
    ];
    const finishLong = async (sessionId = 's') => {
      const { run } = await admitTo(sessionId, { parts });
      await store.end(run, COMPLETED, keptAnswer(answer));
      return run;
    };
    const turnsOf = async (cutTexts: boolean, more: object = {}) =>
      (await store.turns('anonymous', 's', { after: 0, limit: 9, cutTexts, ...more }))!.turns;

    it('are cut in pages on request, and are whole otherwise', async () => {
      await finishLong();
      expect(await turnsOf(true)).toMatchObject([
        { parts: [parts[0], { type: 'text', ...shownQuestion }], ...shownAnswer },
      ]);
      const [whole] = await turnsOf(false);
      expect(whole!.parts).toEqual(parts);
      expect(whole!.text === answer).toBe(true);
      expect(Object.keys(whole!).sort()).toEqual([
        'createdAt',
        'end',
        'endedAt',
        'envelopes',
        'parts',
        'runId',
        'text',
      ]);
    });

    it('count for the length of a page only as far as it shows them', async () => {
      await finishLong();
      await finishLong();
      expect(await turnsOf(true, { maxLength: 800_000 })).toHaveLength(2);
      expect(await turnsOf(true, { maxLength: 100_000 })).toHaveLength(1);
      expect(await turnsOf(false, { maxLength: 200_000 })).toHaveLength(1);
    });

    it('are returned by their digests, to their owner', async () => {
      const run = await finishLong();
      const textOf = async (owner: string, runId: string, sha256: string) => {
        const part = await store.part(owner, runId, sha256);
        return part?.type === 'text' ? part.text : part;
      };
      expect((await textOf('anonymous', run.id, shownQuestion.sha256)) === question).toBe(true);
      expect((await textOf('anonymous', run.id, shownAnswer.sha256)) === answer).toBe(true);
      expect(await textOf('ann', run.id, shownAnswer.sha256)).toBeUndefined();
      expect(await textOf('anonymous', 'unknown', shownAnswer.sha256)).toBeUndefined();
      expect(await textOf('anonymous', run.id, 'f'.repeat(64))).toBeUndefined();
      expect(await textOf('anonymous', '\u0000', "'")).toBeUndefined();
    });

    it('are erased with their session', async () => {
      const run = await finishLong();
      const kept = await finishLong('t');
      await store.erase('anonymous', 's');
      expect(await store.part('anonymous', run.id, shownAnswer.sha256)).toBeUndefined();
      expect(await store.part('anonymous', kept.id, shownAnswer.sha256)).toBeDefined();
    });

    it('of one size are one text, and a text of 64 KiB is not long', async () => {
      const text = 'x'.repeat(64 * 1024);
      const { run } = await admitTo('s', {
        parts: [text, `${text}x`, `${text}x`].map((each) => ({ type: 'text' as const, text: each })),
      });
      await store.end(run, COMPLETED, keptAnswer(`${text}x`));
      const shown = { text, truncated: true, size: text.length + 1 };
      const [turn] = await turnsOf(true);
      expect(turn!.parts[0]).toEqual({ type: 'text', text });
      expect(turn).toMatchObject({ parts: [{}, shown, shown], ...shown });
      const part = await store.part('anonymous', run.id, turn!.sha256!);
      expect(part).toEqual({ type: 'text', text: `${text}x` });
    });
  });
}
