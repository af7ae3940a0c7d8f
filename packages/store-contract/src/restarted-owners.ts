import type { Admission } from 'nest-agent-query';
import { admissionOf, finish, ids, reopen, restart, store } from './opened-store.js';
import { describe, it, expect } from './runner.js';

/** The owners of runs that wait for another attempt. */
export function describeRestartedOwners(): void {
  describe('the owners of restarted runs', () => {
    let limit = Infinity;
    const events = { maxRunningPerOwner: () => limit, restarts: () => 9 };
    const start = () => reopen({}, events);

    const admit = async (owner: string, admission: Partial<Admission> = {}) =>
      (await store.admit(admissionOf({ owner, ...admission }))).run;
    const wait = (owner: string) => admit(owner, { mayStart: false });

    it('get slots in turn, and restarted runs come before the younger ones of their owner', async () => {
      limit = Infinity;
      await start();
      const running = [await admit('ann'), await admit('ann'), await admit('ann')];
      const younger = [await wait('ann'), await wait('ann')];
      for (const run of running) await store.handOver(run);
      const single = await wait('bob');
      const taken = ids(await store.take(9));
      expect(taken.indexOf(single.id)).toBeLessThanOrEqual(2);
      expect(taken[0]).toBe(running[0]!.id);
      expect(taken.indexOf(running[1]!.id)).toBeLessThan(taken.indexOf(younger[1]!.id));
    });

    it('have the same limit after a restart, also if it was higher or absent before', async () => {
      limit = Infinity;
      await start();
      for (let i = 0; i < 3; i++) await admit('ann');
      for (let i = 0; i < 3; i++) await wait('ann');
      limit = 2;
      await restart(events);
      let left = 6;
      for (let taken = await store.take(9); taken.length > 0; taken = await store.take(9)) {
        expect(taken).toHaveLength(Math.min(2, left));
        for (const run of taken) await finish(run);
        left -= taken.length;
      }
      expect(left).toBe(0);
    });

    it('have no limit after a restart without one', async () => {
      limit = 1;
      await start();
      await admit('ann');
      for (let i = 0; i < 3; i++) await admit('ann');
      limit = Infinity;
      await restart(events);
      expect(await store.take(9)).toHaveLength(4);
    });

    it('are not exceeded by runs that are handed over and taken again', async () => {
      limit = 2;
      await start();
      const running = [await admit('ann'), await admit('ann')];
      const deferred = await admit('ann');
      for (const run of running) await store.handOver(run);
      expect((await admit('ann')).status).toBe('waiting');
      const taken = await store.take(9);
      expect(ids(taken)).toEqual(ids(running));
      await finish(taken[0]!);
      expect(ids(await store.take(9))).toEqual([deferred.id]);
    });
  });
}
