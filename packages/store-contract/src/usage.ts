import { type RunRecord, type UsagePage, type Used } from 'nest-agent-query';
import { dayOf, USAGE_DAYS } from 'nest-agent-query/store-rules';
import {
  admitTo,
  finish,
  HOUR,
  itWith,
  later,
  newRun,
  reopen,
  restart,
  store,
  sweep,
  takeAgain,
  wait,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

const DAY = 24 * HOUR;

/** Use of so many tokens. */
const tokens = (inputTokens: number, outputTokens = 0, more: Partial<Used> = {}): Used => ({
  model: undefined,
  inputTokens,
  outputTokens,
  reasoningTokens: 0,
  cachedInputTokens: 0,
  price: 0,
  ...more,
});

const use = async (run: RunRecord, used: Used) =>
  store.append(run, '{"type":"usage","data":{"inputTokens":0,"outputTokens":0}}', used);

const pageOf = (page: Partial<UsagePage>): UsagePage => {
  const today = dayOf(Date.now());
  return { by: 'day', from: today - 300, to: today + 300, after: undefined, limit: 99, ...page };
};

const sumsOf = async (page: Partial<UsagePage>, owner = 'anonymous') =>
  (await store.usage!.sums(owner, pageOf(page))).sums;

/** What is added up: runs, input and output tokens, by what they belong to. */
const shortSums = async (page: Partial<UsagePage>) =>
  Object.fromEntries(
    (await sumsOf(page)).map(({ of, runs, inputTokens, outputTokens }) => [
      String(of),
      [runs, inputTokens, outputTokens],
    ]),
  );

/** What owners have used. */
export function describeUsage(): void {
  describe('usage', () => {
    /** Checks sums before and after the store has done what it does from time to time. */
    const always = async (check: () => Promise<void>) => {
      await check();
      await sweep();
      await check();
    };

    it('is added up as soon as it is appended, and stays when the run ends', async () => {
      const used = tokens(1, 2, {
        model: 'm\u0000\ud800',
        reasoningTokens: 3,
        cachedInputTokens: 4,
        price: 5,
      });
      const run = await newRun();
      const check = async () =>
        expect(await sumsOf({ by: 'model' })).toEqual([{ of: used.model, runs: 1, ...withoutModel(used) }]);
      await use(run, used);
      await check();
      await finish(run);
      await always(check);
      expect(await store.usage!.spent('anonymous', 'day')).toEqual({ tokens: 3, price: 5 });
    });

    it('is added up by session and by model; a run counts for its first usage', async () => {
      const [first, alone] = [(await admitTo('s')).run, await newRun()];
      await Promise.all([
        use(first, tokens(1, 10, { model: 'a' })),
        use(first, tokens(2, 20, { model: 'b' })),
      ]);
      await finish(first);
      await sweep();
      const second = (await admitTo('s')).run;
      await use(second, tokens(4, 40, { model: 'b' }));
      await use(alone, tokens(8, 80));
      await use(second, tokens(16, 160, { model: 'a' }));
      const check = async () => {
        expect(await shortSums({ by: 'session' })).toEqual({ s: [2, 23, 230], undefined: [1, 8, 80] });
        const models = { a: [1, 17, 170], b: [1, 6, 60] };
        expect(await shortSums({ by: 'model' })).toEqual({ ...models, undefined: [1, 8, 80] });
        expect(await shortSums({ by: 'model', sessionId: 's' })).toEqual(models);
        expect(await sumsOf({ by: 'model', sessionId: 't' })).toEqual([]);
      };
      await check();
      await finish(second);
      await finish(alone);
      await always(check);
    });

    it('belongs to one owner only', async () => {
      const [ann, bob] = [await newRun({ owner: 'ann' }), await newRun({ owner: 'bob' })];
      await use(ann, tokens(1));
      await use({ ...ann, owner: 'bob' }, tokens(100));
      await use(bob, tokens(2));
      expect(await sumsOf({}, 'ann')).toMatchObject([{ runs: 1, inputTokens: 1 }]);
      expect(await store.usage!.spent('bob', 'month')).toEqual({ tokens: 2, price: 0 });
      expect(await store.usage!.spent('carl', 'day')).toEqual({ tokens: 0, price: 0 });
      expect(await sumsOf({}, 'carl')).toEqual([]);
    });

    it('does not count without an envelope in the log', async () => {
      const [waiting, ended] = [await wait(), await newRun()];
      await finish(ended);
      for (const run of [waiting, ended]) await use(run, tokens(1));
      expect(await sumsOf({})).toEqual([]);
    });

    it('is exact for many runs at the same time', async () => {
      const runs = await Promise.all(Array.from({ length: 60 }, () => newRun()));
      await Promise.all(
        runs.map(async (run, index) => {
          void use(run, tokens(index));
          void use(run, tokens(0, index, { model: 'm' }));
          await finish(run);
          if (index % 20 === 0) await sweep();
        }),
      );
      await always(async () =>
        expect(await shortSums({ by: 'session' })).toEqual({ undefined: [60, 1770, 1770] }),
      );
    });

    it('counts for the day on which it was appended, and for the month of that', async () => {
      // Not near midnight.
      await later(dayOf(Date.now()) * DAY + 1.5 * DAY - Date.now());
      const run = await newRun();
      await use(run, tokens(1));
      await later(DAY);
      const today = dayOf(Date.now());
      await use(run, tokens(0, 2));
      await finish(run);
      await always(async () => {
        expect(await sumsOf({})).toMatchObject([
          { of: today, runs: 0, inputTokens: 0, outputTokens: 2 },
          { of: today - 1, runs: 1, inputTokens: 1, outputTokens: 0 },
        ]);
      });
      expect(await sumsOf({ from: today })).toMatchObject([{ of: today }]);
      expect(await sumsOf({ to: today - 1 })).toMatchObject([{ of: today - 1 }]);
      expect(await store.usage!.spent('anonymous', 'day')).toEqual({ tokens: 2, price: 0 });
      // By the clock of the test.
      const isNewMonth = new Date(Date.now()).getUTCDate() === 1;
      expect(await store.usage!.spent('anonymous', 'month')).toEqual({
        tokens: isNewMonth ? 2 : 3,
        price: 0,
      });
      await later(31 * DAY);
      expect(await store.usage!.spent('anonymous', 'month')).toEqual({ tokens: 0, price: 0 });
    });

    it('stays when its session is erased, and belongs to no session then', async () => {
      const run = (await admitTo('s')).run;
      await use(run, tokens(1));
      await finish(run);
      await sweep();
      const second = (await admitTo('s')).run;
      await use(second, tokens(2));
      await finish(second);
      expect(await store.erase('anonymous', 's')).toBe(true);
      await always(async () => expect(await shortSums({ by: 'session' })).toEqual({ undefined: [2, 3, 0] }));
      const another = (await admitTo('s')).run;
      await use(another, tokens(4));
      expect(await shortSums({ by: 'session' })).toEqual({ s: [1, 4, 0], undefined: [2, 3, 0] });
    });

    itWith('retention')('stays when its runs and sessions are dropped', async () => {
      await reopen({ runMs: HOUR, sessionMs: HOUR });
      for (const run of [(await admitTo('s')).run, await newRun()]) {
        await use(run, tokens(1));
        await finish(run);
      }
      await later(2 * HOUR);
      expect(await shortSums({ by: 'session' })).toEqual({ undefined: [2, 2, 0] });
      await later(USAGE_DAYS * DAY);
      await use(await newRun(), tokens(4));
      await later(2 * DAY);
      const from = dayOf(Date.now()) - 2 * USAGE_DAYS;
      await use(await newRun(), tokens(8));
      expect(await shortSums({ by: 'session', from })).toEqual({ undefined: [2, 12, 0] });
    });

    itWith('retention')('is dropped after its time, also of owners who do not come back', async () => {
      await reopen({ runMs: HOUR, sessionMs: HOUR });
      for (const run of [(await admitTo('s', { owner: 'ann' })).run, await newRun({ owner: 'ann' })]) {
        await use(run, tokens(1));
        await finish(run);
      }
      const from = dayOf(Date.now()) - 1;
      expect(await sumsOf({ from }, 'ann')).toMatchObject([{ runs: 2 }]);
      await later((USAGE_DAYS + 2) * DAY);
      await use(await newRun(), tokens(4));
      const to = dayOf(Date.now());
      expect(await sumsOf({ from, to }, 'ann')).toEqual([]);
      expect(await sumsOf({ from, to })).toMatchObject([{ runs: 1, inputTokens: 4 }]);
    });

    it('is read in pages, the newest first', async () => {
      for (const model of ['a', 'b', 'c', 'd', undefined]) await use(await newRun(), tokens(1, 0, { model }));
      for (const by of ['model', 'session'] as const) {
        const all = await sumsOf({ by });
        const read: unknown[] = [];
        for (let after: UsagePage['after']; ;) {
          const { sums, next } = await store.usage!.sums('anonymous', pageOf({ by, limit: 2, after }));
          expect(sums.length).toBeLessThanOrEqual(2);
          read.push(...sums);
          if (!next) break;
          expect(next.key).toMatch(/^[\w-]{0,100}$/);
          after = next;
        }
        expect(read).toEqual(all);
      }
      expect((await sumsOf({ by: 'model' })).map(({ of }) => of ?? '').sort()).toEqual([
        '',
        'a',
        'b',
        'c',
        'd',
      ]);
    });

    itWith('durable')('of attempts that were lost or handed over counts, once', async () => {
      const run = (await admitTo('s')).run;
      await use(run, tokens(1));
      await store.handOver(run);
      const second = await takeAgain(run);
      await use(second, tokens(2));
      await restart({ restarts: () => 1 });
      const third = await takeAgain(run);
      await use(third, tokens(4));
      await restart();
      await always(async () => expect(await shortSums({ by: 'session' })).toEqual({ s: [1, 7, 0] }));
      expect(await store.find(run.owner, run.id)).toMatchObject({ end: { error: { code: 'interrupted' } } });
    });
  });
}

function withoutModel({ model: _, ...counts }: Used) {
  return counts;
}
