import { type Admission, type Envelope, log, message, toolCall, toolResult } from 'nest-agent-query';
import {
  CANCELLED,
  codeOf,
  COMPLETED,
  find,
  ids,
  inSession,
  keptAnswer,
  newRun,
  readAll,
  restart,
  restartedOf,
  store,
  take,
  takeAgain,
  textOf,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** The attempts of a run. */
export function describeAttempts(): void {
  describe('the attempts of a run', () => {
    describe('handing a run over', () => {
      it('makes it wait for its next attempt, which its log says', async () => {
        const trace = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
        const run = await newRun({ detached: true, trace });
        await store.append(run, textOf('half'));
        expect(await store.handOver(run)).toBe(true);
        expect(await find(run)).toMatchObject({ status: 'waiting', attempt: 2, detached: true, lastSeq: 2 });
        expect(await readAll(store, run)).toEqual([textOf('half'), restartedOf(2, 0)]);
        expect(await store.read(run, 2)).toMatchObject({ count: 0, ended: false });
        const again = await takeAgain(run);
        expect(again).toMatchObject({ status: 'running', attempt: 2, detached: true, trace, lastSeq: 2 });
        expect(again.startedAt).toBe(run.startedAt);
        await store.append(again, textOf('whole'));
        expect((await store.end(again, COMPLETED, keptAnswer('whole')))!.run).toMatchObject({
          lastSeq: 4,
          attempt: 2,
        });
        const [, , whole, done, ...more] = await readAll(store, run);
        expect([whole, more]).toEqual([textOf('whole'), []]);
        expect(JSON.parse(done!)).toEqual({ type: 'done', data: COMPLETED });
      });

      it('does not count as a lost attempt', async () => {
        const run = await newRun();
        await store.handOver(run);
        await takeAgain(run);
        await restart({ restarts: () => 1 });
        expect((await takeAgain(run)).attempt).toBe(3);
        await restart({ restarts: () => 1 });
        expect(await find(run)).toMatchObject({ end: { error: { code: 'interrupted' } } });
      });

      it('stores everything that was appended before', async () => {
        const run = await newRun();
        const appended = ['a', 'b', 'c'].map(async (it) => store.append(run, textOf(it)));
        const handedOver = store.handOver(run);
        await Promise.all(appended);
        expect(await handedOver).toBe(true);
        expect(await readAll(store, run)).toEqual([...['a', 'b', 'c'].map(textOf), restartedOf(2, 0)]);
      });

      it('takes the run from its old attempt: it appends, stores and ends nothing any more', async () => {
        const run = await newRun({ session: inSession('s') });
        await store.handOver(run);
        const check = async () => {
          expect(await store.end(run, CANCELLED, keptAnswer('old'))).toBeUndefined();
          expect(await codeOf(() => store.saveCheckpoint(run, '"old"'))).toBe('interrupted');
          expect(await store.handOver(run)).toBe(false);
          expect(await readAll(store, run)).toEqual([restartedOf(2, 0)]);
        };
        await store.append(run, textOf('late'));
        await check();
        const again = await takeAgain(run);
        await check();
        expect(await store.query(again)).toMatchObject({ checkpoint: undefined });
        expect((await store.end(again, COMPLETED, keptAnswer('new')))!.run.status).toBe('completed');
        expect(await store.turns('anonymous', 's', { after: 0, limit: 9 })).toMatchObject({
          turns: [{ text: 'new', end: COMPLETED }],
        });
      });

      it('succeeds once, and only as long as the run executes', async () => {
        const run = await newRun();
        const results = await Promise.all([1, 2, 3].map(async () => store.handOver(run)));
        expect(results.filter(Boolean)).toHaveLength(1);
        expect(await find(run)).toMatchObject({ attempt: 2 });
        const again = await takeAgain(run);
        await store.end(again, COMPLETED, keptAnswer());
        expect(await store.handOver(again)).toBe(false);
        const waiting = await newRun({ mayStart: false });
        expect(await store.handOver(waiting)).toBe(false);
        expect(await store.handOver({ ...waiting, owner: 'ann' })).toBe(false);
        expect(await find(waiting)).toMatchObject({ status: 'waiting', attempt: 1 });
      });

      it('and ending it at the same time has one effect', async () => {
        for (let i = 0; i < 10; i++) {
          const run = await newRun();
          const finish = async () => (await store.end(run, COMPLETED, keptAnswer())) !== undefined;
          const handOver = async () => store.handOver(run);
          const isHandedOver = i % 2 === 1;
          const calls = isHandedOver ? [handOver(), finish()] : [finish(), handOver()];
          // The first call decides.
          expect(await Promise.all(calls)).toEqual([true, false]);
          expect(await find(run)).toMatchObject({ status: isHandedOver ? 'waiting' : 'completed' });
          if (isHandedOver) await store.end(await takeAgain(run), COMPLETED, keptAnswer());
        }
      });

      it('keeps its place at the head of its session, and before runs that are younger', async () => {
        const run = await newRun({ session: inSession('s') });
        const behind = await newRun({ session: inSession('s') });
        const younger = await newRun({ mayStart: false });
        await store.handOver(run);
        expect(ids(await store.queue('anonymous', 's'))).toEqual([run.id, behind.id]);
        expect(await take(1)).toEqual([run.id]);
        expect(await take()).toEqual([younger.id]);
      });

      it('counts it among the runs that wait', async () => {
        const run = await newRun();
        await store.handOver(run);
        const waiting = { mayStart: false, maxWaiting: 1 };
        expect(await codeOf(() => newRun(waiting))).toBe('at_capacity');
        await takeAgain(run);
        expect((await newRun(waiting)).status).toBe('waiting');
      });

      it('lets a caller cancel it before its next attempt', async () => {
        const run = await newRun({ session: inSession('s') });
        const behind = await newRun({ session: inSession('s') });
        await store.append(run, textOf('half'));
        await store.handOver(run);
        expect(await store.end(run, CANCELLED, keptAnswer())).toBeUndefined();
        const finished = await store.end({ ...run, attempt: 2 }, CANCELLED, keptAnswer());
        expect(finished).toMatchObject({ run: { status: 'cancelled', lastSeq: 3 }, next: { id: behind.id } });
        expect(await takeAgain(behind)).toMatchObject({ attempt: 1 });
      });
    });

    describe('the query of a run', () => {
      const parts: Admission['parts'] = [
        { type: 'text', text: 'q'.repeat(100_000) },
        { type: 'file', name: 'a.png', mimeType: 'image/png', size: 3, sha256: 'f'.repeat(64) },
      ];
      const kwargs = { session_id: 's', a: ['\u0000', '\ud800', null, 1.5] };

      it('has the envelopes of the answer that no later attempt has made void', async () => {
        let run = await newRun({ parts, session: inSession('s') });
        const emit = async (...envelopes: Envelope[]) => {
          for (const it of envelopes) await store.append(run, JSON.stringify(it));
        };
        const call = toolCall('1', 'look');
        await emit(message('a'), message('b'), log('-'), call);
        await store.saveCheckpoint(run, '1');
        await emit(toolResult('1', 'void'), message('void'));
        await store.handOver(run);
        run = await takeAgain(run);
        const kept = { text: 'ab', envelopes: [message('ab'), call] };
        expect(await store.query(run)).toMatchObject({ answer: kept });
        await emit(toolResult('1', 'seen'));
        await store.saveCheckpoint(run, '2');
        await store.handOver(run);
        run = await takeAgain(run);
        const answer = { text: 'ab', envelopes: [...kept.envelopes, toolResult('1', 'seen')] };
        expect(await store.query(run)).toMatchObject({ answer });
        await store.end(run, COMPLETED, answer);
        expect(await store.turns('anonymous', 's', { after: 0, limit: 9 })).toMatchObject({
          turns: [answer],
        });
      });

      it('is whole for a run that waits and for one that executes', async () => {
        const stored = { parts, kwargs, answer: keptAnswer(), checkpoint: undefined };
        for (const named of [undefined, inSession('s')]) {
          const run = await newRun({ parts, kwargs, session: named });
          expect(await store.query(run)).toEqual(stored);
          await store.handOver(run);
          expect(await store.query(run)).toEqual(stored);
        }
      });

      it('does not exist for another owner, for an unknown run, and when the run has ended', async () => {
        const run = await newRun();
        expect(await codeOf(() => store.query({ ...run, owner: 'ann' }))).toBe('not_found');
        expect(await codeOf(() => store.query({ ...run, id: 'unknown' }))).toBe('not_found');
        expect(await codeOf(() => store.query({ ...run, id: '\u0000' }))).toBe('not_found');
        await store.end(run, COMPLETED, keptAnswer());
        expect(await codeOf(() => store.query(run))).toBe('not_found');
      });
    });
  });
}
