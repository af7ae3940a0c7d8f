import { message } from 'nest-agent-query';
import {
  admit,
  admitTo,
  anyText,
  casesOf,
  codeOf,
  COMPLETED,
  DONE,
  eventually,
  finish,
  itWith,
  logOf,
  refusalOf,
  reopen,
  store,
  sweep,
  take,
  wait,
} from './opened-store.js';
import { describe, it, expect } from './runner.js';

/** The log of a run. */
export function describeLog(): void {
  describe('the log', () => {
    const textOf = (content: string) => JSON.stringify(message(content));

    it('numbers envelopes 1, 2, 3 in the order of the calls, and is readable from any of them', async () => {
      const { run } = await admit();
      await Promise.all(['a', 'b', 'c'].map(async (it) => store.append(run, textOf(it))));
      expect(await store.find(run.owner, run.id)).toMatchObject({ lastSeq: 3 });
      expect(await logOf(run)).toEqual([textOf('a'), textOf('b'), textOf('c')]);
      expect(await logOf(run, 2)).toEqual([textOf('c')]);
      expect(await store.read(run, 1)).toMatchObject({ first: 2, ended: false });
      expect(await store.read(run, 3)).toMatchObject({
        first: 4,
        count: 0,
        ended: false,
      });
    });

    it('accepts no envelope of a run that waits', async () => {
      const run = await wait();
      await store.append(run, textOf('too early'));
      expect(await logOf(run)).toEqual([]);
      expect(await take()).toEqual([run.id]);
      await store.append(run, textOf('now'));
      expect(await logOf(run)).toEqual([textOf('now')]);
    });

    it('returns every text unchanged, in slices without a gap', async () => {
      const { default: fc } = await import('fast-check');
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(anyText(fc, { maxLength: 20 }), fc.constantFrom(0, 1, 500, 30_000, 70_000)), {
            maxLength: 25,
          }),
          fc.nat(),
          async (contents, cursor) => {
            const texts = contents.map(([content, length]) => textOf(content + 'é'.repeat(length)));
            const { run } = await admit();
            await Promise.all(texts.map(async (text) => store.append(run, text)));
            const after = cursor % (texts.length + 1);
            expect(await logOf(run, after)).toEqual(texts.slice(after));
            await finish(run);
            expect(await logOf(run, after)).toEqual([...texts.slice(after), DONE]);
          },
        ),
        { numRuns: casesOf(25) },
      );
    });

    it('is read in slices of about 64 KiB, with the offset of the end of each', async () => {
      const { run } = await admit();
      const text = textOf('x'.repeat(1000));
      await Promise.all(Array.from({ length: 200 }, async () => store.append(run, text)));
      let after = 0;
      while (after < 200) {
        const slice = await store.read(run, after);
        expect(slice.first).toBe(after + 1);
        expect(slice.count).toBeGreaterThan(0);
        expect(slice.lines).toBe(Array(slice.count).fill(text).join('\n'));
        expect(slice.count * text.length).toBeLessThanOrEqual(64 * 1024 + text.length);
        after += slice.count;
        expect(slice.endOffset).toBe(after * text.length);
      }
      expect(await store.read(run, 200)).toMatchObject({ endOffset: 200 * text.length });
    });

    it('ends with done, after everything that was appended before', async () => {
      const { run } = await admit();
      const appended = ['a', 'b', 'c'].map(async (it) => store.append(run, textOf(it)));
      await Promise.all([...appended, finish(run)]);
      expect(await logOf(run)).toEqual([textOf('a'), textOf('b'), textOf('c'), DONE]);
      expect(await store.read(run, 3)).toMatchObject({ first: 4, ended: true });
      expect(await store.read(run, 4)).toMatchObject({ count: 0, lines: '', ended: true });
    });

    it('accepts no envelope after done, for an unknown run or from another owner', async () => {
      const { run } = await admit({ runId: 'a', owner: 'ann' });
      await store.append({ owner: 'bob', id: 'a' }, textOf('foreign'));
      await store.append({ owner: 'ann', id: 'b' }, textOf('unknown'));
      await finish(run);
      await store.append({ owner: 'ann', id: 'a' }, textOf('late'));
      expect(await logOf(run)).toEqual([DONE]);
      expect(await store.find('ann', 'a')).toMatchObject({ lastSeq: 1 });
    });

    it('does not exist for other owners', async () => {
      const { run } = await admit({ owner: 'ann' });
      expect(await codeOf(() => store.read({ owner: 'bob', id: run.id }, 0))).toBe('not_found');
      expect(await codeOf(() => store.read({ owner: 'ann', id: 'unknown' }, 0))).toBe('not_found');
    });

    itWith('lengthLimits')('drops its oldest envelopes at its limit, and tells which are kept', async () => {
      await reopen({ logLength: 200_000 });
      const { run } = await admit();
      const text = textOf('x'.repeat(2000));
      for (let i = 0; i < 250; i++) await store.append(run, text);
      await sweep();
      const expired = (await refusalOf(() => store.read(run, 0)))!;
      expect(expired).toMatchObject({ code: 'cursor_expired', latest: 250 });
      const oldest = expired.oldest!;
      expect((250 - oldest + 1) * text.length).toBeLessThanOrEqual(200_000);
      expect((250 - oldest + 1) * text.length).toBeGreaterThan(100_000);
      expect(await codeOf(() => store.read(run, oldest - 2))).toBe('cursor_expired');
      expect(await logOf(run, oldest - 1)).toHaveLength(250 - oldest + 1);
      const { endOffset } = await store.read(run, 250);
      expect(endOffset).toBe(250 * text.length);
      await finish(run);
      expect((await logOf(run, 240)).at(-1)).toBe(DONE);
    });
  });
}

/** The length of all logs. */
export function describeLogLength(): void {
  describe('the length of all logs', () => {
    const DONE_LENGTH = DONE.length;
    const text = (length: number) => JSON.stringify(message('x'.repeat(length)));

    it('is 0 without runs', async () => {
      expect(await store.logLength()).toBe(0);
    });

    it('has what was appended to unfinished and ended runs, and nothing else', async () => {
      const first = (await admit({ notices: () => ['{"type":"log"}'] })).run;
      const second = (await admitTo('s')).run;
      await store.append(first, text(10));
      await store.append(second, text(1_000));
      const lengths = text(10).length + text(1_000).length + '{"type":"log"}'.length;
      expect(await store.logLength()).toBe(lengths);
      await finish(second, COMPLETED, 'the turn');
      await eventually(async () => (await store.logLength()) === lengths + DONE_LENGTH);
      await finish(first);
      await eventually(async () => (await store.logLength()) === lengths + 2 * DONE_LENGTH);
      await store.erase('anonymous', 's');
      const left = text(10).length + '{"type":"log"}'.length + DONE_LENGTH;
      await eventually(async () => (await store.logLength()) === left);
    });
  });
}
