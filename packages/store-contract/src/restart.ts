import {
  admissionOf,
  admitTo,
  COMPLETED,
  DONE,
  eventually,
  find,
  finish,
  ids,
  inSession,
  keptAnswer,
  logOf,
  newRun,
  noticeOf,
  readAll,
  restart,
  restartedOf,
  store,
  take,
  takeAgain,
  textOf,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

const HALF = textOf('half an answer');

/** A store is opened again after a crash. */
export function describeRestart(): void {
  describe('a restart', () => {
    it('keeps runs that wait, with their whole query, also where pages cut it', async () => {
      const parts = [{ type: 'text' as const, text: 'ä'.repeat(50_000) }];
      const kwargs = { a: ['\u0000'] };
      const { run } = await admitTo('s', {
        parts,
        kwargs,
        mayStart: false,
        notices: () => [noticeOf('n')],
      });
      await restart();
      expect(await store.find(run.owner, run.id)).toEqual(run);
      expect(await store.take(9)).toMatchObject([{ id: run.id, status: 'running', attempt: 1, lastSeq: 1 }]);
      expect(await store.query(run)).toEqual({
        parts,
        kwargs,
        answer: keptAnswer(),
        checkpoint: undefined,
      });
      expect(await logOf(run)).toEqual([noticeOf('n')]);
    });

    it('keeps ended runs, sessions and idempotency keys', async () => {
      const idempotency = { key: 'k', digest: '1' };
      const { run } = await admitTo('s', { idempotency });
      await store.append(run, '{"type":"x","data":1}');
      await finish(run, COMPLETED, 'text');
      const before = [
        await store.find(run.owner, run.id),
        await store.turns(run.owner, 's', { after: 0, limit: 9 }),
      ];
      await restart();
      expect([
        await store.find(run.owner, run.id),
        await store.turns(run.owner, 's', { after: 0, limit: 9 }),
      ]).toEqual(before);
      expect(await logOf(run)).toEqual(['{"type":"x","data":1}', DONE]);
      expect(await admitTo('s', { idempotency })).toMatchObject({ created: false, run: { id: run.id } });
    });

    it('ends a running run as interrupted, with the beginning of its answer, and keeps the rest of its queue', async () => {
      const [a, b] = [(await admitTo('s')).run, (await admitTo('s')).run];
      await store.append(a, HALF);
      const recovered: string[] = [];
      await restart({ recovered: (runId) => recovered.push(runId) });
      await eventually(() => recovered.length > 0);
      expect(recovered).toEqual([a.id]);
      expect(await store.find(a.owner, a.id)).toMatchObject({
        status: 'failed',
        end: { status: 'failed', error: { code: 'interrupted' } },
        lastSeq: 2,
      });
      const [envelope, done, ...more] = await logOf(a);
      expect([envelope, more]).toEqual([HALF, []]);
      expect(JSON.parse(done!)).toMatchObject({ type: 'done', data: { error: { code: 'interrupted' } } });
      const { turns } = (await store.turns(a.owner, 's', { after: 0, limit: 9 }))!;
      expect(turns).toMatchObject([{ runId: a.id, text: 'half an answer' }]);
      expect(await store.queue(b.owner, 's')).toMatchObject([{ id: b.id, status: 'waiting' }]);
      expect(await take()).toEqual([b.id]);
    });
  });

  describe('a crash', () => {
    it('makes a run wait for its next attempt, as long as it has one; then the run ends as interrupted', async () => {
      let run = await newRun({ session: inSession('s') });
      const behind = await newRun({ session: inSession('s') });
      const texts: string[] = [];
      for (let attempt = 1; attempt <= 3; attempt++) {
        texts.push(textOf(`${attempt} `));
        await store.append(run, texts.at(-1)!);
        if (attempt === 1) await store.saveCheckpoint(run, '"first"');
        const told: string[] = [];
        await restart({
          restarts: () => 2,
          recovered: (runId) => told.push(runId),
          ready: () => told.push('ready'),
        });
        // What happened is told after it has happened.
        await eventually(() => told.includes(run.id) && told.includes('ready'));
        expect(told.filter((it) => it !== 'ready')).toEqual([run.id]);
        if (attempt === 3) break;
        texts.push(restartedOf(attempt + 1, 1));
        expect(await find(run)).toMatchObject({
          status: 'waiting',
          attempt: attempt + 1,
          startedAt: run.startedAt,
        });
        expect(ids(await store.queue('anonymous', 's'))).toEqual([run.id, behind.id]);
        expect(await store.query(run)).toMatchObject({ answer: keptAnswer('1 '), checkpoint: '"first"' });
        expect(await readAll(store, run)).toEqual(texts);
        run = await takeAgain(run);
      }
      expect(await find(run)).toMatchObject({
        status: 'failed',
        end: { error: { code: 'interrupted' } },
        attempt: 3,
      });
      expect((await readAll(store, run)).slice(0, -1)).toEqual(texts);
      // The turn has what is valid: that before the checkpoint, and that of the last attempt.
      expect(await store.turns('anonymous', 's', { after: 0, limit: 9 })).toMatchObject({
        turns: [{ runId: run.id, ...keptAnswer('1 3 '), end: { error: { code: 'interrupted' } } }],
      });
      expect(await takeAgain(behind)).toMatchObject({ attempt: 1 });
    });

    it('leaves a run as many attempts as its module says', async () => {
      const [research, support] = [await newRun({ module: 'research' }), await newRun({ module: 'support' })];
      await restart({ restarts: (module) => (module === 'research' ? 1 : 0) });
      expect(await find(research)).toMatchObject({ status: 'waiting', attempt: 2 });
      expect(await find(support)).toMatchObject({ status: 'failed', attempt: 1 });
      expect(ids(await store.take(9, 'research'))).toEqual([research.id]);
    });

    it('does not change runs that were handed over, and runs that wait', async () => {
      const run = await newRun();
      const waiting = await newRun({ mayStart: false });
      await store.handOver(run);
      const before = [await find(run), await find(waiting)];
      const recovered: string[] = [];
      await restart({ restarts: () => 9, recovered: (runId) => recovered.push(runId) });
      expect([await find(run), await find(waiting)]).toEqual(before);
      expect(recovered).toEqual([]);
      expect(await take()).toEqual([run.id, waiting.id]);
    });

    it('lets an idempotency key start a new run only if the run has no attempt left', async () => {
      const idempotency = { key: 'k', digest: '1' };
      const run = await newRun({ idempotency });
      await restart({ restarts: () => 1 });
      expect(await store.admit(admissionOf({ idempotency }))).toMatchObject({
        created: false,
        run: { id: run.id, status: 'waiting' },
      });
      await takeAgain(run);
      await restart({ restarts: () => 1 });
      expect((await store.admit(admissionOf({ idempotency }))).created).toBe(true);
    });
  });
}
