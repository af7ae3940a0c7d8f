import type { Admission, EndedRunsPage, ListPosition, RunEnd, RunRecord } from 'nest-agent-query';
import { admit, admitTo, answer, first, runPages, runsOf } from './lists.js';
import { CANCELLED, FAILED, finish, ids, inSession, store, tick } from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** The lists of runs, and of those that have ended. */
export function describeRunLists(): void {
  describe('the lists of an owner', () => {
    it('have the runs in every state, newest first', async () => {
      const failed = await admit();
      await store.append(failed, '{"type":"log","data":{"message":"x"}}');
      await finish(failed, FAILED);
      await tick();
      const running = await admitTo('s');
      await tick();
      const behind = await admitTo('s');
      await tick();
      const waiting = await admit({ mayStart: false });
      const { runs, next } = await store.runs('ann', first);
      expect(next).toBeUndefined();
      expect(runs).toMatchObject([
        { id: waiting.id, status: 'waiting', sessionId: undefined },
        { id: behind.id, status: 'waiting', sessionId: 's' },
        { id: running.id, status: 'running', sessionId: 's' },
        { id: failed.id, owner: 'ann', status: 'failed', end: FAILED, lastSeq: 2 },
      ]);
      expect(runs).toMatchObject(
        await Promise.all(
          ids(runs).map(async (id) => {
            const { createdAt, startedAt, endedAt, lastSeq } = (await store.find('ann', id))!;
            return { createdAt, startedAt, endedAt, lastSeq };
          }),
        ),
      );
    });

    it('have the runs of a session, or of a status, or both', async () => {
      const alone = await answer();
      const other = await answer({ session: inSession('t') });
      const ended = await admitTo('s');
      await finish(ended);
      await tick();
      const running = await admitTo('s');
      await tick();
      const waiting = await admitTo('s');
      expect(await runsOf('ann', { sessionId: 's' })).toEqual(ids([waiting, running, ended]));
      expect(await runsOf('ann', { sessionId: 's', status: 'completed' })).toEqual([ended.id]);
      expect(await runsOf('ann', { sessionId: 't', status: 'running' })).toEqual([]);
      expect(await runsOf('ann', { sessionId: '' })).toEqual([]);
      expect(await runsOf('ann', { status: 'waiting' })).toEqual([waiting.id]);
      expect(await runsOf('ann', { status: 'running' })).toEqual([running.id]);
      expect((await runsOf('ann', { status: 'completed' })).sort()).toEqual(
        ids([alone, other, ended]).sort(),
      );
      expect(await runsOf('ann', { status: 'cancelled' })).toEqual([]);
      expect((await runPages(1, { sessionId: 's' })).flat()).toEqual(ids([waiting, running, ended]));
    });

    it('have the runs with all entries of a filter, and their metadata, in every state and page', async () => {
      const text = '\0 "\ud800" \\ % _ é'.padEnd(512, '.');
      const metadata = { team: 'sales', 'a.b c[d]"': text, ['__proto__']: 'x', '': '' };
      const all: RunRecord[] = [];
      for (let i = 0; i < 3; i++) {
        all.unshift(await admitTo('s', { metadata }));
        await tick();
        await admitTo('s', { metadata: { team: 'support', [text.slice(0, 64)]: 'sales' } });
        await admit({ owner: 'bob', metadata });
      }
      await finish(all[2]!);
      const plain = await answer();
      expect((await store.runs('ann', { ...first, metadata })).runs).toMatchObject([
        { metadata, status: 'waiting' },
        { metadata, status: 'waiting' },
        { metadata, status: 'completed' },
      ]);
      expect((await store.find('ann', plain.id))!.metadata).toBeUndefined();
      for (const entries of [{ team: 'sales' }, { team: 'sales', 'a.b c[d]"': text }, metadata]) {
        expect(await runsOf('ann', { metadata: entries })).toEqual(ids(all));
        expect((await runPages(1, { metadata: entries })).flat()).toEqual(ids(all));
        expect((await runPages(2, { metadata: entries, sessionId: 's' })).flat()).toEqual(ids(all));
        expect(await runsOf('ann', { metadata: entries, status: 'completed' })).toEqual([all[2]!.id]);
        expect(await runsOf('ann', { metadata: entries, sessionId: 't' })).toEqual([]);
        expect(await runsOf('carl', { metadata: entries })).toEqual([]);
      }
      for (const others of [
        { team: 'Sales' },
        { sales: 'team' },
        { team: 'sales', x: 'y' },
        { toString: '' },
      ])
        expect(await runsOf('ann', { metadata: others })).toEqual([]);
      expect(await runsOf('ann', { metadata: { team: 'support' } })).toHaveLength(3);
      expect(await runsOf('ann', { metadata: {} })).toHaveLength(7);
    });

    it('have the runs that have ended, those that ended last first, in pages, with their number', async () => {
      const all: string[] = [];
      const end = async (admission: Partial<Admission>, how?: RunEnd) => {
        const run = await admit(admission);
        all.unshift(run.id);
        await tick();
        return async () => {
          await finish(run, how);
          await tick();
          return (await store.find('ann', run.id))!.endedAt!;
        };
      };
      const endFirst = await end({}, FAILED);
      const endSecond = await end({ session: inSession('s') });
      const endThird = await end({}, CANCELLED);
      await admit();
      await admit({ owner: 'bob' }).then((run) => finish(run));
      const [c, b, a] = all as [string, string, string];
      await endThird();
      const since = await endFirst();
      await endSecond();
      const ended = async (filter: Partial<EndedRunsPage> = {}) => {
        const page = { since: -Infinity, after: undefined, limit: 10, ...filter };
        const { runs, hasMore, total } = await store.endedRuns('ann', page);
        return { runs: ids(runs), hasMore, total };
      };
      expect(await ended()).toEqual({ runs: [b, a, c], hasMore: false, total: 3 });
      const { runs } = await store.endedRuns('ann', { since: 0, after: undefined, limit: 2 });
      expect(runs).toMatchObject([
        { id: b, sessionId: 's', status: 'completed' },
        { id: a, end: FAILED },
      ]);
      const { id, endedAt } = runs[0]!;
      expect(await ended({ limit: 1 })).toEqual({ runs: [b], hasMore: true, total: 3 });
      const after = { at: endedAt!, key: id };
      expect(await ended({ limit: 1, after })).toEqual({ runs: [a], hasMore: true, total: 3 });
      expect(await ended({ limit: 2, after })).toEqual({ runs: [a, c], hasMore: false, total: 3 });
      expect(await ended({ since })).toEqual({ runs: [b, a], hasMore: false, total: 2 });
      expect(await ended({ since: Date.UTC(10_000, 0) })).toEqual({ runs: [], hasMore: false, total: 0 });
      expect(await ended({ status: 'cancelled' })).toEqual({ runs: [c], hasMore: false, total: 1 });
      expect(await ended({ sessionId: 's' })).toEqual({ runs: [b], hasMore: false, total: 1 });
      const none = { runs: [], hasMore: false, total: 0 };
      expect(await ended({ sessionId: 's', status: 'failed' })).toEqual(none);
    });

    it('have runs that ended in one moment once each, in pages', async () => {
      const expected = ids(await Promise.all(Array.from({ length: 12 }, () => answer())));
      const seen: string[] = [];
      for (let after: ListPosition | undefined, isLast = false; !isLast;) {
        const { runs, hasMore } = await store.endedRuns('ann', { since: 0, after, limit: 5 });
        seen.push(...ids(runs));
        const last = runs.at(-1)!;
        [after, isLast] = [{ at: last.endedAt!, key: last.id }, !hasMore];
      }
      expect(seen.sort()).toEqual(expected.sort());
    });
  });
}
