import fc from 'fast-check';
import {
  type Admission,
  type Envelope,
  log,
  message,
  type RunEnd,
  type RunRecord,
  type RunStore,
  toolCall,
  toolResult,
} from '../../src/query/index.js';
import { eventually } from '../support/conditions.js';
import { admissionOf, codeOf, ids, keptAnswer, type OpenStore, readAll } from './open-store.js';

const COMPLETED: RunEnd = { status: 'completed' };
const CANCELLED: RunEnd = { status: 'cancelled' };
const textOf = (content: string) => JSON.stringify(message(content));
const restartedOf = (attempt: number, from: number) =>
  JSON.stringify({ type: 'restarted', data: { attempt, from } });

/**
 * Checks what a durable store promises about the attempts of a run: `checkpoint`, `handOver`, `query`, and `recover`.
 *
 * @param name of the store
 * @param open opens an empty store
 */
export function attemptsContract(name: string, open: () => Promise<OpenStore>): void {
  describe(`${name}: the attempts of a run`, () => {
    let opened: OpenStore;
    let store: RunStore;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    const admit = async (admission: Partial<Admission> = {}) =>
      (await store.admit(admissionOf(admission))).run;
    const session = { id: 's', policy: 'enqueue' as const, maxWaiting: 9 };
    const take = async (count = 9) => store.take(count);
    const find = async ({ owner, id }: RunRecord) => store.find(owner, id);
    const takeAgain = async (run: RunRecord) => {
      const [taken, ...others] = await take();
      expect([taken?.id, others]).toEqual([run.id, []]);
      return taken!;
    };

    describe('handing a run over', () => {
      it('makes it wait for its next attempt, which its log says', async () => {
        const trace = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
        const run = await admit({ detached: true, trace });
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

      it('stores everything that was appended before', async () => {
        const run = await admit();
        const appended = ['a', 'b', 'c'].map(async (it) => store.append(run, textOf(it)));
        const handedOver = store.handOver(run);
        await Promise.all(appended);
        expect(await handedOver).toBe(true);
        expect(await readAll(store, run)).toEqual([...['a', 'b', 'c'].map(textOf), restartedOf(2, 0)]);
      });

      it('takes the run from its old attempt: it appends, stores and ends nothing any more', async () => {
        const run = await admit({ session });
        await store.handOver(run);
        const check = async () => {
          expect(await store.end(run, CANCELLED, keptAnswer('old'))).toBeUndefined();
          expect(await codeOf(() => store.keep(run, { state: '"old"' }))).toBe('interrupted');
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
        const run = await admit();
        const results = await Promise.all([1, 2, 3].map(async () => store.handOver(run)));
        expect(results.filter(Boolean)).toHaveLength(1);
        expect(await find(run)).toMatchObject({ attempt: 2 });
        const again = await takeAgain(run);
        await store.end(again, COMPLETED, keptAnswer());
        expect(await store.handOver(again)).toBe(false);
        const waiting = await admit({ mayStart: false });
        expect(await store.handOver(waiting)).toBe(false);
        expect(await store.handOver({ ...waiting, owner: 'ann' })).toBe(false);
        expect(await find(waiting)).toMatchObject({ status: 'waiting', attempt: 1 });
      });

      it('and ending it at the same time has one effect', async () => {
        for (let i = 0; i < 10; i++) {
          const run = await admit();
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
        const run = await admit({ session });
        const behind = await admit({ session });
        const younger = await admit({ mayStart: false });
        await store.handOver(run);
        expect(ids(await store.queue('anonymous', 's'))).toEqual([run.id, behind.id]);
        expect(ids(await take(1))).toEqual([run.id]);
        expect(ids(await take())).toEqual([younger.id]);
      });

      it('counts it among the runs that wait', async () => {
        const run = await admit();
        await store.handOver(run);
        const waiting = { mayStart: false, maxWaiting: 1 };
        expect(await codeOf(() => admit(waiting))).toBe('at_capacity');
        await takeAgain(run);
        expect((await admit(waiting)).status).toBe('waiting');
      });

      it('lets a caller cancel it before its next attempt', async () => {
        const run = await admit({ session });
        const behind = await admit({ session });
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
        let run = await admit({ parts, session });
        const emit = async (...envelopes: Envelope[]) => {
          for (const it of envelopes) await store.append(run, JSON.stringify(it));
        };
        const call = toolCall('1', 'look');
        await emit(message('a'), message('b'), log('-'), call);
        await store.keep(run, { state: '1' });
        await emit(toolResult('1', 'void'), message('void'));
        await store.handOver(run);
        run = await takeAgain(run);
        const kept = { text: 'ab', envelopes: [message('ab'), call] };
        expect(await store.query(run)).toMatchObject({ answer: kept });
        await emit(toolResult('1', 'seen'));
        await store.keep(run, { state: '2' });
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
        for (const named of [undefined, session]) {
          const run = await admit({ parts, kwargs, session: named });
          expect(await store.query(run)).toEqual(stored);
          await store.handOver(run);
          expect(await store.query(run)).toEqual(stored);
        }
      });

      it('does not exist for another owner, for an unknown run, and when the run has ended', async () => {
        const run = await admit();
        expect(await codeOf(() => store.query({ ...run, owner: 'ann' }))).toBe('not_found');
        expect(await codeOf(() => store.query({ ...run, id: 'unknown' }))).toBe('not_found');
        expect(await codeOf(() => store.query({ ...run, id: '\u0000' }))).toBe('not_found');
        await store.end(run, COMPLETED, keptAnswer());
        expect(await codeOf(() => store.query(run))).toBe('not_found');
      });
    });

    describe('a checkpoint', () => {
      it('is where the next attempt begins: what came after it is void', async () => {
        const run = await admit({ session });
        await store.append(run, textOf('kept '));
        await store.append(run, JSON.stringify(log('not text')));
        await store.keep(run, { state: '{"step":1}' });
        await store.append(run, textOf('void '));
        await store.handOver(run);
        expect(await readAll(store, run, 3)).toEqual([restartedOf(2, 2)]);
        expect(await store.query(run)).toMatchObject({
          answer: keptAnswer('kept '),
          checkpoint: '{"step":1}',
        });
        const second = await takeAgain(run);
        await store.append(second, textOf('void too '));
        await store.handOver(second);
        expect(await readAll(store, run, 5)).toEqual([restartedOf(3, 2)]);
        expect(await store.query(run)).toMatchObject({
          answer: keptAnswer('kept '),
          checkpoint: '{"step":1}',
        });
        const third = await takeAgain(run);
        await store.append(third, textOf('and this'));
        await store.keep(third, { state: '2' });
        await store.handOver(third);
        expect(await readAll(store, run, 7)).toEqual([restartedOf(4, 7)]);
        expect(await store.query(run)).toMatchObject({
          answer: keptAnswer('kept and this'),
          checkpoint: '2',
        });
      });

      it('covers what was appended before it, and nothing that is appended after it', async () => {
        const run = await admit();
        await Promise.all([
          store.append(run, textOf('a')),
          store.keep(run, { state: '1' }),
          store.append(run, textOf('b')),
          store.keep(run, { state: '2' }),
          store.append(run, textOf('c')),
        ]);
        await store.handOver(run);
        expect((await readAll(store, run)).at(-1)).toBe(restartedOf(2, 2));
        expect(await store.query(run)).toMatchObject({ answer: keptAnswer('ab'), checkpoint: '2' });
      });

      it('before the first envelope makes nothing valid', async () => {
        const run = await admit({ notices: () => [JSON.stringify(log('notice'))] });
        await store.keep(run, { state: 'null' });
        await store.handOver(run);
        expect((await readAll(store, run)).at(-1)).toBe(restartedOf(2, 1));
        expect(await store.query(run)).toMatchObject({ answer: keptAnswer(), checkpoint: 'null' });
      });

      it('is refused for a run that this process does not execute', async () => {
        const run = await admit();
        const waiting = await admit({ mayStart: false });
        for (const other of [waiting, { ...run, owner: 'ann' }, { ...run, id: 'unknown' }])
          expect(await codeOf(() => store.keep(other, { state: '1' }))).toBe('interrupted');
        await store.end(run, COMPLETED, keptAnswer());
        expect(await codeOf(() => store.keep(run, { state: '1' }))).toBe('interrupted');
      });

      it('leaves to the next attempt what a model says, whatever was emitted and stored before', async () => {
        const step = fc.oneof(
          { weight: 4, arbitrary: fc.record({ type: fc.constant('emit' as const), isText: fc.boolean() }) },
          { weight: 2, arbitrary: fc.record({ type: fc.constant('checkpoint' as const) }) },
          { weight: 1, arbitrary: fc.record({ type: fc.constant('hand over' as const) }) },
        );
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
            let run = await admit();
            const log: { text: string; envelope: string; isVoid: boolean }[] = [];
            let from = 0;
            let state: string | undefined;
            let stored: unknown = Promise.resolve();
            const handOver = async () => {
              await store.handOver(run);
              for (const entry of log.slice(from)) entry.isVoid = true;
              log.push({ text: '', envelope: restartedOf(run.attempt + 1, from), isVoid: false });
              const text = log.map((entry) => (entry.isVoid ? '' : entry.text)).join('');
              expect(await store.query(run)).toMatchObject({ answer: keptAnswer(text), checkpoint: state });
              run = await takeAgain(run);
            };
            for (const [index, { type, ...it }] of steps.entries()) {
              if (type === 'emit') {
                const text = 'isText' in it && it.isText ? `${index} ` : '';
                const envelope = text ? textOf(text) : JSON.stringify({ type: 'x', data: index });
                log.push({ text, envelope, isVoid: false });
                stored = store.append(run, envelope);
              } else if (type === 'checkpoint') {
                stored = store.keep(run, { state: (state = `${index}`) });
                from = log.length;
              } else {
                await handOver();
              }
            }
            await stored;
            await handOver();
            expect(await readAll(store, run)).toEqual(log.map(({ envelope }) => envelope));
            await store.end(run, COMPLETED, keptAnswer());
          }),
          { numRuns: 20 },
        );
      });
    });

    describe('a crash', () => {
      it('makes a run wait for its next attempt, as long as it has one; then the run ends as interrupted', async () => {
        let run = await admit({ session });
        const behind = await admit({ session });
        const texts: string[] = [];
        for (let attempt = 1; attempt <= 3; attempt++) {
          texts.push(textOf(`${attempt} `));
          await store.append(run, texts.at(-1)!);
          if (attempt === 1) await store.keep(run, { state: '"first"' });
          const told: string[] = [];
          store = await opened.restart!({
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
        const [research, support] = [await admit({ module: 'research' }), await admit({ module: 'support' })];
        store = await opened.restart!({ restarts: (module) => (module === 'research' ? 1 : 0) });
        expect(await find(research)).toMatchObject({ status: 'waiting', attempt: 2 });
        expect(await find(support)).toMatchObject({ status: 'failed', attempt: 1 });
        expect(ids(await store.take(9, 'research'))).toEqual([research.id]);
      });

      it('does not change runs that were handed over, and runs that wait', async () => {
        const run = await admit();
        const waiting = await admit({ mayStart: false });
        await store.handOver(run);
        const before = [await find(run), await find(waiting)];
        const recovered: string[] = [];
        store = await opened.restart!({ restarts: () => 9, recovered: (runId) => recovered.push(runId) });
        expect([await find(run), await find(waiting)]).toEqual(before);
        expect(recovered).toEqual([]);
        expect(ids(await take())).toEqual([run.id, waiting.id]);
      });

      it('lets an idempotency key start a new run only if the run has no attempt left', async () => {
        const idempotency = { key: 'k', digest: '1' };
        const run = await admit({ idempotency });
        store = await opened.restart!({ restarts: () => 1 });
        expect(await store.admit(admissionOf({ idempotency }))).toMatchObject({
          created: false,
          run: { id: run.id, status: 'waiting' },
        });
        await takeAgain(run);
        store = await opened.restart!({ restarts: () => 1 });
        expect((await store.admit(admissionOf({ idempotency }))).created).toBe(true);
      });
    });
  });
}
