import type { Admission, ListPosition, RunRecord } from 'nest-agent-query';
import {
  admissionOf,
  casesOf,
  finish,
  HOUR,
  ids,
  inSession,
  later,
  reopen,
  store,
  tick,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** Owners that a store must tell apart, whatever it stores. */
const OWNERS = [
  '',
  'ann',
  'Ann',
  'ann ',
  '\0',
  '\0ann',
  '"ann"',
  'ann%',
  '\ud800',
  '\udc00',
  'x'.repeat(10_000),
];

export const admit = async (admission: Partial<Admission> = {}) =>
  (await store.admit(admissionOf({ owner: 'ann', ...admission }))).run;
export const admitTo = (id: string, admission: Partial<Admission> = {}) =>
  admit({ session: inSession(id), ...admission });
export const answer = async (admission: Partial<Admission> = {}) => {
  const run = await admit(admission);
  await finish(run);
  return run;
};
export const first = { after: undefined, limit: 500 };
export const runsOf = async (owner: string, filter = {}) =>
  ids((await store.runs(owner, { ...first, ...filter })).runs);
const sessionsOf = async (owner: string) => ids((await store.sessions(owner, first)).sessions);
/** Reads a list to its end. `between` is called after each page. */
const pagesOf = async (
  read: (after: ListPosition | undefined) => Promise<{ found: string[]; next: ListPosition | undefined }>,
  between: () => unknown = () => undefined,
) => {
  const pages: string[][] = [];
  for (let after: ListPosition | undefined; ;) {
    const { found, next } = await read(after);
    pages.push(found);
    expect(pages.length).toBeLessThan(1_000);
    if (next === undefined) return pages;
    expect(next.key).toMatch(/^[\w-]{0,100}$/);
    after = next;
    await between();
  }
};
export const runPages = (limit: number, more: object = {}) =>
  pagesOf(async (after) => {
    const { runs, next } = await store.runs('ann', { after, limit, ...more });
    return { found: ids(runs), next };
  });
const sessionPages = (limit: number, more: object = {}) =>
  pagesOf(async (after) => {
    const { sessions, next } = await store.sessions('ann', { after, limit, ...more });
    return { found: ids(sessions), next };
  });

/** Something that happens between two pages. */
type Change = { add: boolean; at: number };

/** What the lists of runs and sessions have in common, and those of sessions. */
export function describeLists(): void {
  describe('the lists of an owner', () => {
    it('are empty before the first query', async () => {
      expect(await store.runs('ann', first)).toEqual({ runs: [], next: undefined });
      expect(await store.sessions('ann', first)).toEqual({ sessions: [], next: undefined });
    });

    it('have nothing of another owner, whatever strings the owners are', async () => {
      const runs: RunRecord[] = [];
      const metadata = { key: 'value' };
      for (const owner of OWNERS) runs.push(await admitTo(`session of ${owner}`, { owner, metadata }));
      for (const [index, owner] of OWNERS.entries()) {
        expect(await runsOf(owner, { metadata })).toEqual([runs[index]!.id]);
        expect(await runsOf(owner)).toEqual([runs[index]!.id]);
        expect(await runsOf(owner, { sessionId: `session of ${OWNERS[index - 1] ?? 'nobody'}` })).toEqual([]);
        expect(await sessionsOf(owner)).toEqual([`session of ${owner}`]);
      }
      for (const run of runs) await finish(run);
      for (const [index, owner] of OWNERS.entries()) {
        const ended = await store.endedRuns(owner, { since: 0, after: undefined, limit: 10 });
        expect(ended).toMatchObject({ runs: [{ id: runs[index]!.id }], total: 1 });
      }
      expect([await runsOf('bob'), await sessionsOf('bob')]).toEqual([[], []]);
    });

    it('have the sessions, last used first, also those whose first run has not ended', async () => {
      const since = Date.now();
      await answer({ session: inSession('a') });
      await tick();
      const running = await admitTo('b');
      await admitTo('b');
      await tick();
      await admitTo('c', { mayStart: false });
      const { sessions, next } = await store.sessions('ann', first);
      expect(next).toBeUndefined();
      expect(sessions).toEqual([
        { id: 'c', title: 'Hello', turns: 0, usedAt: expect.any(Number), active: undefined },
        { id: 'b', title: 'Hello', turns: 0, usedAt: expect.any(Number), active: running.id },
        { id: 'a', title: 'Hello', turns: 1, usedAt: expect.any(Number), active: undefined },
      ]);
      for (const { usedAt } of sessions) expect(usedAt).toBeGreaterThan(since - HOUR / 60);
      await tick();
      await admitTo('a');
      expect(await sessionsOf('ann')).toEqual(['a', 'c', 'b']);
      await tick();
      await finish(running);
      expect(await sessionsOf('ann')).toEqual(['b', 'a', 'c']);
    });

    it('have the first text of a session as its title, in one line and at most 80 characters of it', async () => {
      const file = {
        type: 'file' as const,
        name: 'a.txt',
        mimeType: 'text/plain',
        size: 1,
        sha256: '0'.repeat(64),
      };
      const text = (value: string) => ({ type: 'text' as const, text: value });
      const titles: [Admission['parts'], string | undefined][] = [
        [[text('  What\n\tis  this? ')], 'What is this?'],
        [[file, text(' \n'), text('Second'), text('Third')], 'Second'],
        [[file], undefined],
        [[text('\u{1f600}'.repeat(200))], '\u{1f600}'.repeat(80)],
        [[text(`a${'\u{1f600}'.repeat(200)}`)], `a${'\u{1f600}'.repeat(79)}`],
        [[text(`${'word '.repeat(15)}1234 67890`)], `${'word '.repeat(15)}1234`],
        [[text('a\0b\ud800"')], 'a\0b\ud800"'],
      ];
      for (const [index, [parts]] of titles.entries()) await admitTo(`${index}`, { parts });
      const titleOf = async () => {
        const { sessions } = await store.sessions('ann', first);
        return new Map(sessions.map(({ id, title }) => [id, title]));
      };
      const shown = await titleOf();
      for (const [index, [, title]] of titles.entries())
        expect([index, shown.get(`${index}`)]).toEqual([index, title]);

      // The first text of a session may come with a later query. It is not replaced by later texts.
      for (const later of ['First text', 'Another']) await admitTo('2', { parts: [text(later)] });
      expect((await titleOf()).get('2')).toBe('First text');
    });

    it('have a run or session no more that was erased', async () => {
      const kept = await answer({ session: inSession('kept') });
      await answer({ session: inSession('erased'), metadata: { team: 'sales' } });
      await store.erase('ann', 'erased');
      expect(await runsOf('ann')).toEqual([kept.id]);
      expect(await runsOf('ann', { sessionId: 'erased' })).toEqual([]);
      expect(await runsOf('ann', { metadata: { team: 'sales' } })).toEqual([]);
      expect(await sessionsOf('ann')).toEqual(['kept']);
      await tick();
      const { id } = await admitTo('erased', { parts: [{ type: 'text', text: 'Again' }] });
      expect((await store.sessions('ann', first)).sessions[0]).toMatchObject({
        id: 'erased',
        title: 'Again',
        turns: 0,
        active: id,
      });
    });

    it('have a run or session no more that retention has dropped', async () => {
      await reopen({ runMs: HOUR, sessionMs: 2 * HOUR });
      const metadata = { team: 'sales' };
      await answer({ session: inSession('s'), metadata });
      const unfinished = await admit({ metadata });
      await later(HOUR + 1_000);
      expect(await runsOf('ann')).toEqual([unfinished.id]);
      expect(await runsOf('ann', { metadata })).toEqual([unfinished.id]);
      expect(await sessionsOf('ann')).toEqual(['s']);
      await later(HOUR);
      expect(await sessionsOf('ann')).toEqual([]);
    });

    it('are read in pages of any size, and within a length, but at least one entry at a time', async () => {
      for (let i = 0; i < 7; i++) {
        await admitTo(`${i}${'x'.repeat(1_000)}`);
        await tick();
      }
      const allRuns = await runsOf('ann');
      const allSessions = await sessionsOf('ann');
      expect([allRuns.length, allSessions.length]).toEqual([7, 7]);
      for (const limit of [1, 2, 6, 7, 8]) {
        const expected = Array.from({ length: Math.ceil(7 / limit) }, (_, page) =>
          Math.min(limit, 7 - page * limit),
        );
        for (const [pages, all] of [
          [await runPages(limit), allRuns],
          [await sessionPages(limit), allSessions],
        ] as const) {
          expect(pages.flat()).toEqual(all);
          expect(pages.map(({ length }) => length)).toEqual(expected);
        }
      }
      for (const [maxLength, most] of [
        [1, 1],
        [3_000, 2],
        [100_000, 7],
      ] as const) {
        for (const pages of [await runPages(500, { maxLength }), await sessionPages(500, { maxLength })]) {
          expect(Math.max(...pages.map(({ length }) => length))).toBe(most);
          expect(pages.flat()).toHaveLength(7);
        }
      }
    });

    it('show each run once that exists throughout, in order, while others are added and removed', async () => {
      const { default: fc } = await import('fast-check');
      let properties = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 12 }),
          fc.integer({ min: 1, max: 6 }),
          fc.array(fc.record({ add: fc.boolean(), at: fc.nat(50) }), { maxLength: 12 }),
          async (count, limit, allChanges: Change[]) => {
            const changes = [...allChanges];
            const owner = `owner ${++properties}`;
            const existing: { id: string; session: string }[] = [];
            let sessions = 0;
            const add = async () => {
              const session = `${++sessions}`;
              const { id } = await answer({ owner, session: inSession(session) });
              existing.push({ id, session });
            };
            for (let i = 0; i < count; i++) await add();
            const before = await store.runs(owner, first);
            const times = before.runs.map(({ createdAt }) => createdAt);
            expect(times).toEqual(times.toSorted((a, b) => b - a));
            expect(ids(before.runs).sort()).toEqual(ids(existing).sort());

            const seen = await pagesOf(
              async (after) => {
                const { runs, next } = await store.runs(owner, { after, limit });
                return { found: ids(runs), next };
              },
              async () => {
                for (const { add: isAdded, at } of changes.splice(0, 3)) {
                  if (isAdded) await add();
                  else if (existing.length > 0) {
                    const [removed] = existing.splice(at % existing.length, 1);
                    await store.erase(owner, removed!.session);
                  }
                }
              },
            );
            const stayed = ids(before.runs).filter((id) => existing.some((run) => run.id === id));
            expect(new Set(seen.flat()).size).toBe(seen.flat().length);
            expect(seen.flat().filter((id) => stayed.includes(id))).toEqual(stayed);
            for (const page of seen) expect(page.length).toBeLessThanOrEqual(limit);
          },
        ),
        { numRuns: casesOf(25) },
      );
    });
  });
}
