import type { RunRecord } from 'nest-agent-query';
import {
  admit,
  admitTo,
  CANCELLED,
  casesOf,
  CLOCK_MS,
  COMPLETED,
  FAILED,
  finish,
  ids,
  keptAnswer,
  logOf,
  noticeOf,
  store,
  take,
  wait,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** The end of a run. */
export function describeEnd(): void {
  describe('end', () => {
    it('records the status, the time and done', async () => {
      for (const end of [COMPLETED, CANCELLED, FAILED]) {
        const { run } = await admit();
        const since = Date.now();
        const finished = await finish(run, end);
        expect(finished!.next).toBeUndefined();
        expect(finished!.run).toMatchObject({ id: run.id, status: end.status, end, lastSeq: 1 });
        expect(finished!.run.endedAt).toBeGreaterThanOrEqual(since - CLOCK_MS);
        expect(await store.find(run.owner, run.id)).toMatchObject({ status: end.status, end, lastSeq: 1 });
        expect((await logOf(run)).map((text) => JSON.parse(text) as unknown)).toEqual([
          { type: 'done', data: end },
        ]);
      }
    });

    it('ends a run once, and only the first of several calls', async () => {
      const { run } = await admitTo('s');
      const ends = [COMPLETED, CANCELLED, FAILED, COMPLETED, CANCELLED];
      const finished = await Promise.all(ends.map((end) => finish(run, end)));
      const winners = finished.filter((it) => it !== undefined);
      expect(winners).toHaveLength(1);
      expect((await logOf(run)).map((text) => JSON.parse(text) as unknown)).toEqual([
        { type: 'done', data: winners[0]!.run.end },
      ]);
      expect((await store.turns(run.owner, 's', { after: 0, limit: 10 }))!.total).toBe(1);
    });

    it('does nothing for an unknown run and a run of another owner', async () => {
      const { run } = await admit({ runId: 'a', owner: 'ann' });
      const waiting = await wait({ runId: 'b', owner: 'ann' });
      const attempt = 1;
      for (const id of ['a', 'b'])
        expect(await store.end({ owner: 'bob', id, attempt }, COMPLETED, keptAnswer())).toBeUndefined();
      expect(await store.end({ owner: 'ann', id: 'c', attempt }, COMPLETED, keptAnswer())).toBeUndefined();
      expect(
        await store.end({ owner: 'ann', id: '\u0000', attempt }, COMPLETED, keptAnswer()),
      ).toBeUndefined();
      expect(await store.find(run.owner, 'a')).toMatchObject({ status: 'running' });
      expect(await store.find(waiting.owner, 'b')).toMatchObject({ status: 'waiting' });
    });

    it('does nothing for a run that is at another attempt', async () => {
      const [running, waiting] = [(await admit()).run, await wait()];
      for (const run of [running, waiting]) {
        for (const attempt of [0, 2]) expect(await finish({ ...run, attempt })).toBeUndefined();
        expect(await logOf(run)).toEqual([]);
        expect(await finish(run)).toMatchObject({ run: { id: run.id, status: 'completed' } });
      }
    });

    it('ends a run that waits: after its notices, with its turn, and nobody can take it', async () => {
      const notices = () => [noticeOf('Waiting.')];
      const first = (await admitTo('s')).run;
      const behind = (await admitTo('s', { notices })).run;
      const ready = await wait({ notices });
      for (const run of [behind, ready]) {
        const finished = (await finish(run, CANCELLED))!;
        expect(finished.next).toBeUndefined();
        expect(finished.run).toMatchObject({
          id: run.id,
          status: 'cancelled',
          lastSeq: 2,
          startedAt: undefined,
        });
        const [notice, done] = await logOf(run);
        expect([notice, JSON.parse(done!)]).toEqual([
          noticeOf('Waiting.'),
          { type: 'done', data: CANCELLED },
        ]);
        expect(await finish(run)).toBeUndefined();
      }
      expect(await store.turns(first.owner, 's', { after: 0, limit: 9 })).toMatchObject({
        turns: [{ runId: behind.id, text: '', end: CANCELLED }],
      });
      expect(await take()).toEqual([]);
      expect((await finish(first))!.next).toBeUndefined();
    });

    it('promotes the next run when a run ends that waited as the first of its session', async () => {
      const [a, b] = [(await admitTo('s', { mayStart: false })).run, (await admitTo('s')).run];
      expect((await finish(a, CANCELLED))!.next).toMatchObject({ id: b.id, status: 'waiting' });
      expect(await take()).toEqual([b.id]);
    });

    it('ends a run once that is started at the same time', async () => {
      for (let i = 0; i < 10; i++) {
        const run = await wait();
        const [finished, taken] = await Promise.all([finish(run, CANCELLED), take()]);
        // The end may also come after the start.
        if (!finished) {
          expect(taken).toEqual([run.id]);
          expect((await finish(run))!.run.status).toBe('completed');
        }
        expect(await logOf(run)).toHaveLength(1);
        expect(await take()).toEqual([]);
      }
    });

    it('promotes the next run of the session', async () => {
      const [a, b, c] = [(await admitTo('s')).run, (await admitTo('s')).run, (await admitTo('s')).run];
      expect((await finish(a))!.next).toMatchObject({ id: b.id, status: 'waiting' });
      expect((await finish(b))!.next).toMatchObject({ id: c.id });
      expect((await finish(c))!.next).toBeUndefined();
      expect(await store.queue(c.owner, 's')).toEqual([]);
      expect((await admitTo('s')).ahead).toEqual([]);
    });

    it('promotes no run when a run ends that was not the first in the queue', async () => {
      const [a, b, c] = [(await admitTo('s')).run, (await admitTo('s')).run, (await admitTo('s')).run];
      expect((await finish(b, CANCELLED))!.next).toBeUndefined();
      expect(ids(await store.queue(a.owner, 's'))).toEqual([a.id, c.id]);
      expect((await finish(a))!.next).toMatchObject({ id: c.id });
    });

    it('promotes no run of a session twice, in whatever order the runs end', async () => {
      const { default: fc } = await import('fast-check');
      await fc.assert(
        fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 }), async (order) => {
          const session = `s${Math.random()}`;
          const runs: RunRecord[] = [];
          for (let i = 0; i < 6; i++) runs.push((await admitTo(session)).run);
          const finished = await Promise.all(order.map((index) => finish(runs[index]!)));
          const promoted = finished.flatMap((it) => (it!.next ? [it!.next.id] : []));
          expect(new Set(promoted).size).toBe(promoted.length);
          expect(await store.queue('anonymous', session)).toEqual([]);
        }),
        { numRuns: casesOf(20) },
      );
    });
  });
}
