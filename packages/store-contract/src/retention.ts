import { message, type RunRecord } from 'nest-agent-query';
import {
  admit,
  admitTo,
  codeOf,
  COMPLETED,
  finish,
  HOUR,
  itWith,
  later,
  logOf,
  refusalOf,
  reopen,
  store,
  sweep,
} from './opened-store.js';
import { describe, it, expect } from './runner.js';

/** What a store drops. */
export function describeRetention(): void {
  describe('retention', () => {
    it('drops a run, its log and its idempotency key when runMs have passed since its end', async () => {
      await reopen({ runMs: HOUR });
      const idempotency = { key: 'k', digest: '1' };
      const { run } = await admit({ idempotency });
      const unfinished = (await admit()).run;
      await finish(run);
      await later(HOUR - 1000);
      expect(await store.find(run.owner, run.id)).toMatchObject({ status: 'completed' });
      await later(2000);
      expect(await store.find(run.owner, run.id)).toBeUndefined();
      expect(await codeOf(() => store.read(run, 0))).toBe('not_found');
      expect(await admit({ idempotency: { key: 'k', digest: '2' } })).toMatchObject({ created: true });
      expect(await store.find(unfinished.owner, unfinished.id)).toMatchObject({ status: 'running' });
    });

    it('drops a session when sessionMs have passed since its last turn', async () => {
      await reopen({ sessionMs: HOUR, runMs: HOUR });
      const total = async () => (await store.turns('anonymous', 's', { after: 0, limit: 1 }))?.total;
      await finish((await admitTo('s')).run);
      await later(HOUR - 1000);
      await finish((await admitTo('s')).run);
      await later(HOUR - 1000);
      expect(await total()).toBe(2);
      const { run } = await admitTo('s');
      await later(2 * HOUR);
      expect(await total()).toBe(2);
      await finish(run);
      await later(HOUR + 1000);
      expect(await total()).toBeUndefined();
    });

    itWith('lengthLimits')('drops the runs that ended first when all logs exceed totalLength', async () => {
      await reopen({ totalLength: 50_000 });
      const runs: RunRecord[] = [];
      for (let i = 0; i < 10; i++) {
        const { run } = await admit();
        runs.push(run);
        await store.append(run, JSON.stringify(message('x'.repeat(10_000))));
        await finish(run);
      }
      await sweep();
      const kept = await Promise.all(runs.map(async ({ owner, id }) => store.find(owner, id)));
      const oldest = kept.findIndex((run) => run !== undefined);
      expect(oldest).toBeGreaterThanOrEqual(5);
      expect(oldest).toBeLessThan(9);
      expect(kept.slice(oldest)).not.toContain(undefined);
    });

    itWith('lengthLimits')('trims the logs of unfinished runs when all logs exceed totalLength', async () => {
      await reopen({ totalLength: 1_000_000 });
      const text = JSON.stringify(message('x'.repeat(10_000)));
      const runs: RunRecord[] = [];
      for (let i = 0; i < 4; i++) runs.push((await admit()).run);
      for (let i = 0; i < 100; i++) await Promise.all(runs.map(async (run) => store.append(run, text)));
      await sweep();
      let kept = 0;
      for (const { owner, id } of runs) {
        const expired = await refusalOf(() => store.read({ owner, id }, 0));
        kept += (100 - (expired?.oldest ?? 1) + 1) * text.length;
        expect(await logOf({ owner, id }, 99)).toEqual([text]);
      }
      expect(kept).toBeLessThanOrEqual(1_000_000);
      expect(kept).toBeGreaterThan(500_000);
    });

    itWith('lengthLimits')(
      'keeps the newest 64 KiB before the last envelope of each unfinished run, whatever the limit',
      async () => {
        await reopen({ totalLength: 100_000 });
        const text = JSON.stringify(message('x'.repeat(1000)));
        const large = JSON.stringify(message('x'.repeat(300_000)));
        const runs: RunRecord[] = [];
        for (let i = 0; i < 4; i++) runs.push((await admit()).run);
        for (const each of [...Array<string>(200).fill(text), large])
          await Promise.all(runs.map(async (run) => store.append(run, each)));
        await sweep();
        for (const run of runs) {
          expect(await logOf(run, 200 - 64)).toEqual([...Array<string>(64).fill(text), large]);
        }
      },
    );

    itWith('lengthLimits')(
      'drops the turns of the sessions that were unused for longest when all exceed sessionsLength',
      async () => {
        await reopen({ sessionsLength: 50_000 });
        const turn = async (id: string) => finish((await admitTo(id)).run, COMPLETED, 'x'.repeat(10_000));
        for (let i = 0; i < 3; i++) await turn('old');
        for (let i = 0; i < 3; i++) await turn('new');
        await sweep();
        const sessionOf = async (id: string) => store.turns('anonymous', id, { after: 0, limit: 100 });
        expect((await sessionOf('new'))!.turns).toHaveLength(3);
        expect((await sessionOf('old'))?.turns.length ?? 0).toBeLessThan(3);
        for (let i = 0; i < 7; i++) await turn('new');
        await sweep();
        const { turns, last, total } = (await sessionOf('new'))!;
        expect(turns.length).toBeLessThan(5);
        expect(turns.length).toBeGreaterThan(1);
        expect([last, total]).toEqual([10, 10]);
        const { number } = (await store.turn('anonymous', 'new', turns[0]!.runId))!;
        expect(number).toBe(11 - turns.length);
        expect(await store.turns('anonymous', 'new', { after: 9, limit: 5 })).toMatchObject({ last: 10 });
      },
    );
  });
}
