import { message, type RunRecord } from 'nest-agent-query';
import {
  admit,
  admitTo,
  CANCELLED,
  casesOf,
  CLOCK_MS,
  codeOf,
  eventually,
  finish,
  ids,
  itWith,
  noticeOf,
  reopen,
  store,
  take,
  wait,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

/** Runs that wait are started. */
export function describeTaking(): void {
  describe('take', () => {
    /** Waits until the clock of the store has moved on, so that what comes next is later. */
    const later = async () => {
      const since = Date.now();
      await eventually(() => Date.now() > since + 1);
    };

    it('starts runs that wait for a slot', async () => {
      const run = await wait({ runId: 'a', notices: () => [noticeOf('Waiting.')] });
      const since = Date.now();
      const [taken, ...others] = await store.take(5);
      expect(others).toEqual([]);
      expect(taken).toMatchObject({ id: 'a', status: 'running', attempt: 1, lastSeq: 1 });
      expect(taken!.startedAt).toBeGreaterThanOrEqual(since - CLOCK_MS);
      expect(await store.find(run.owner, 'a')).toMatchObject({ status: 'running', lastSeq: 1 });
      expect(await store.take(5)).toEqual([]);
      await store.append(taken!, JSON.stringify(message('x')));
      expect((await finish(taken!))!.run).toMatchObject({ status: 'completed', lastSeq: 3 });
    });

    it('starts no more than it is asked for, those that are ready for longest first', async () => {
      const waiting: string[] = [];
      for (let i = 0; i < 5; i++) {
        waiting.push((await wait({ owner: `owner ${i % 2}` })).id);
        await later();
      }
      expect(await take(2)).toEqual(waiting.slice(0, 2));
      expect(await take(1)).toEqual(waiting.slice(2, 3));
      expect(await take(9)).toEqual(waiting.slice(3));
    });

    it('counts the time of a run from when it became the first of its session', async () => {
      const first = (await admitTo('s')).run;
      const second = (await admitTo('s')).run;
      await later();
      const alone = await wait();
      await later();
      await finish(first);
      await later();
      const last = await wait();
      expect(await take()).toEqual([alone.id, second.id, last.id]);
    });

    it('starts no run behind another one of its session', async () => {
      const [a, b, c] = [
        (await admitTo('s', { mayStart: false })).run,
        (await admitTo('s')).run,
        (await admitTo('s')).run,
      ];
      expect(await take()).toEqual([a.id]);
      expect(await take()).toEqual([]);
      await finish(a);
      expect(await take()).toEqual([b.id]);
      // Another one leaves the queue, but the first one still executes.
      await finish(c, CANCELLED);
      expect(await take()).toEqual([]);
    });

    it('returns no run twice, also if it is called many times at once', async () => {
      const waiting = [];
      for (let i = 0; i < 20; i++) waiting.push((await wait()).id);
      for (let i = 0; i < 3; i++) await admitTo('s', { mayStart: false });
      const taken = (await Promise.all([3, 1, 8, 2, 9, 4].map((count) => take(count)))).flat();
      expect(new Set(taken).size).toBe(taken.length);
      const rest = await take();
      expect(taken.length + rest.length).toBe(21);
      expect(new Set([...taken, ...rest]).size).toBe(21);
    });

    itWith('modules')('starts the runs of the module that is named, and no others', async () => {
      const unnamed = (await wait()).id;
      const research = (await admitTo('s', { module: 'research', mayStart: false })).run;
      const queued = (await admitTo('s', { module: 'research' })).run;
      const support = (await wait({ module: 'support' })).id;
      const takeOf = async (module: string) => ids(await store.take(9, module));
      expect(await takeOf('support')).toEqual([support]);
      expect(await takeOf('support')).toEqual([]);
      expect(await takeOf('research')).toEqual([research.id]);
      await finish(research);
      expect(await take()).toEqual([unnamed]);
      expect(await takeOf('research')).toEqual([queued.id]);
      expect(await takeOf('nobody')).toEqual([]);
    });

    itWith('modules')('counts the waiting runs of each module alone', async () => {
      for (let i = 0; i < 2; i++) await wait({ module: 'research', maxWaiting: 2 });
      expect(await codeOf(() => wait({ module: 'research', maxWaiting: 2 }))).toBe('at_capacity');
      expect((await wait({ maxWaiting: 1 })).status).toBe('waiting');
      expect((await wait({ module: 'support', maxWaiting: 1 })).status).toBe('waiting');
      expect(await store.take(1, 'research')).toHaveLength(1);
      expect((await wait({ module: 'research', maxWaiting: 2 })).status).toBe('waiting');
    });

    it('starts what a model of the queues says, whatever was admitted, started and ended before', async () => {
      const { default: fc } = await import('fast-check');
      const step = fc.oneof(
        fc.record({
          type: fc.constant('admit' as const),
          session: fc.constantFrom(undefined, 's', 't'),
          slot: fc.boolean(),
        }),
        fc.record({ type: fc.constant('take' as const), count: fc.integer({ min: 1, max: 3 }) }),
        fc.record({ type: fc.constant('finish' as const), choice: fc.nat(), isRunning: fc.boolean() }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
          await reopen();
          const waiting: RunRecord[] = [];
          const running = new Map<string, RunRecord>();
          const isReady = ({ id, sessionId }: RunRecord) =>
            sessionId === undefined ||
            (waiting.find((run) => run.sessionId === sessionId)!.id === id &&
              [...running.values()].every((run) => run.sessionId !== sessionId));
          for (const it of steps) {
            if (it.type === 'admit') {
              const { run } = await (it.session === undefined
                ? admit({ mayStart: it.slot })
                : admitTo(it.session, { mayStart: it.slot }));
              waiting.push(run);
              const starts = it.slot && isReady(run);
              expect(run.status).toBe(starts ? 'running' : 'waiting');
              if (!starts) continue;
              running.set(run.id, run);
              waiting.pop();
            } else if (it.type === 'take') {
              const ready = ids(waiting.filter(isReady));
              const taken = await take(it.count);
              expect(taken).toHaveLength(Math.min(it.count, ready.length));
              expect(ready).toEqual(expect.arrayContaining(taken));
              for (const id of taken) {
                const [run] = waiting.splice(ids(waiting).indexOf(id), 1);
                running.set(id, run!);
              }
            } else {
              const runs = it.isRunning ? [...running.values()] : waiting;
              const run = runs[it.choice % runs.length];
              if (!run) continue;
              expect((await finish(run, CANCELLED))!.run).toMatchObject({
                id: run.id,
                status: 'cancelled',
              });
              running.delete(run.id);
              if (waiting.includes(run)) waiting.splice(waiting.indexOf(run), 1);
            }
          }
        }),
        { numRuns: casesOf(15) },
      );
    });
  });
}
