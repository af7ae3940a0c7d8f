import { log } from 'nest-agent-query';
import {
  casesOf,
  codeOf,
  COMPLETED,
  inSession,
  keptAnswer,
  newRun,
  readAll,
  restartedOf,
  store,
  takeAgain,
  textOf,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** The states that handlers keep for the next attempt. */
export function describeCheckpoints(): void {
  describe('a checkpoint', () => {
    it('is where the next attempt begins: what came after it is void', async () => {
      const run = await newRun({ session: inSession('s') });
      await store.append(run, textOf('kept '));
      await store.append(run, JSON.stringify(log('not text')));
      await store.saveCheckpoint(run, '{"step":1}');
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
      await store.saveCheckpoint(third, '2');
      await store.handOver(third);
      expect(await readAll(store, run, 7)).toEqual([restartedOf(4, 7)]);
      expect(await store.query(run)).toMatchObject({
        answer: keptAnswer('kept and this'),
        checkpoint: '2',
      });
    });

    it('covers what was appended before it, and nothing that is appended after it', async () => {
      const run = await newRun();
      await Promise.all([
        store.append(run, textOf('a')),
        store.saveCheckpoint(run, '1'),
        store.append(run, textOf('b')),
        store.saveCheckpoint(run, '2'),
        store.append(run, textOf('c')),
      ]);
      await store.handOver(run);
      expect((await readAll(store, run)).at(-1)).toBe(restartedOf(2, 2));
      expect(await store.query(run)).toMatchObject({ answer: keptAnswer('ab'), checkpoint: '2' });
    });

    it('before the first envelope makes nothing valid', async () => {
      const run = await newRun({ notices: () => [JSON.stringify(log('notice'))] });
      await store.saveCheckpoint(run, 'null');
      await store.handOver(run);
      expect((await readAll(store, run)).at(-1)).toBe(restartedOf(2, 1));
      expect(await store.query(run)).toMatchObject({ answer: keptAnswer(), checkpoint: 'null' });
    });

    it('is refused for a run that this process does not execute', async () => {
      const run = await newRun();
      const waiting = await newRun({ mayStart: false });
      for (const other of [waiting, { ...run, owner: 'ann' }, { ...run, id: 'unknown' }])
        expect(await codeOf(() => store.saveCheckpoint(other, '1'))).toBe('interrupted');
      await store.end(run, COMPLETED, keptAnswer());
      expect(await codeOf(() => store.saveCheckpoint(run, '1'))).toBe('interrupted');
    });

    it('leaves to the next attempt what a model says, whatever was emitted and stored before', async () => {
      const { default: fc } = await import('fast-check');
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.record({ type: fc.constant('emit' as const), isText: fc.boolean() }) },
        { weight: 2, arbitrary: fc.record({ type: fc.constant('checkpoint' as const) }) },
        { weight: 1, arbitrary: fc.record({ type: fc.constant('hand over' as const) }) },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          let run = await newRun();
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
              stored = store.saveCheckpoint(run, (state = `${index}`));
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
        { numRuns: casesOf(20) },
      );
    });
  });
}
