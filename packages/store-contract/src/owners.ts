import type { RunRecord, Admission } from 'nest-agent-query';
import {
  admissionOf,
  CANCELLED,
  casesOf,
  codeOf,
  finish,
  ids,
  inSession,
  refusalOf,
  reopen,
  store,
  take,
  tick,
} from './opened-store.js';
import { beforeEach, describe, expect, it } from './runner.js';

/** Slots are given to owners in turn, within their limits. */
export function describeOwners(): void {
  describe('the owners of runs', () => {
    let limit = Infinity;

    const reopenWithLimit = () => reopen({}, { maxRunningPerOwner: () => limit });
    beforeEach(async () => {
      limit = Infinity;
      await reopenWithLimit();
    });

    const admit = async (owner: string, admission: Partial<Admission> = {}) =>
      (await store.admit(admissionOf({ owner, ...admission }))).run;
    const wait = (owner: string, admission: Partial<Admission> = {}) =>
      admit(owner, { mayStart: false, ...admission });
    /** The owners of the runs that are started, one after another. */
    const ownersOf = async (count: number) => {
      const owners: string[] = [];
      for (let i = 0; i < count; i++) owners.push(...(await store.take(1)).map(({ owner }) => owner));
      return owners;
    };

    describe('slots', () => {
      it('are given in turn, however many runs an owner has', async () => {
        for (let i = 0; i < 20; i++) await wait('ann');
        expect(await ownersOf(3)).toEqual(['ann', 'ann', 'ann']);
        const single = await wait('bob');
        const [first, second] = await store.take(2);
        expect([first!.owner, second!.id]).toEqual(['ann', single.id]);
        for (let i = 0; i < 3; i++) await wait('bob');
        for (let i = 0; i < 3; i++) await wait('cid');
        expect(await ownersOf(9)).toEqual(['ann', 'bob', 'cid', 'ann', 'bob', 'cid', 'ann', 'bob', 'cid']);
        expect(await ownersOf(20)).toEqual(Array(13).fill('ann'));
      });

      it('are given in turn also if many are taken at once', async () => {
        for (let i = 0; i < 10; i++) await wait('ann');
        for (let i = 0; i < 3; i++) await wait('bob');
        const taken = (await store.take(6)).map(({ owner }) => owner);
        expect(taken.filter((owner) => owner === 'bob')).toHaveLength(3);
      });

      it('are given in turn to runs that are promoted from the queue of their session', async () => {
        const first = await admit('ann', { session: inSession('s') });
        const behind = await admit('ann', { session: inSession('s') });
        for (let i = 0; i < 9; i++) await wait('bob');
        await finish(first);
        expect(await store.take(2)).toMatchObject([{ owner: 'bob' }, { id: behind.id }]);
      });

      it('are given in turn to all owners that come at the same time', async () => {
        const owners = ['ann', 'bob', 'cid', 'dan'];
        await Promise.all(Array.from({ length: 40 }, (_, index) => wait(owners[index % 4]!)));
        for (let round = 0; round < 10; round++) expect((await ownersOf(4)).toSorted()).toEqual(owners);
      });

      it('keep no debt: an owner that had many slots waits no longer for the next one', async () => {
        for (let i = 0; i < 5; i++) await wait('ann');
        await take();
        for (let i = 0; i < 3; i++) await wait('bob');
        await wait('ann');
        expect(await ownersOf(4)).toEqual(['bob', 'ann', 'bob', 'bob']);
      });

      it('are not given earlier because the owner has cancelled a query that was before', async () => {
        for (const owner of ['ann', 'bob', 'bob']) await wait(owner);
        const [first] = [await wait('cid'), await wait('cid')];
        await finish(first, CANCELLED);
        expect(await ownersOf(4)).toEqual(['ann', 'bob', 'bob', 'cid']);
      });

      it('are given so that no other owner gets two before the query of an owner that has no other', async () => {
        const { default: fc } = await import('fast-check');
        const step = fc.oneof(
          { weight: 3, arbitrary: fc.record({ admits: fc.constantFrom('a', 'b', 'c', 'd') }) },
          { weight: 2, arbitrary: fc.record({ takes: fc.integer({ min: 1, max: 3 }) }) },
          { weight: 1, arbitrary: fc.record({ cancels: fc.nat() }) },
        );
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
            await reopenWithLimit();
            const waiting: RunRecord[] = [];
            /** For each run whose owner had no other when it came: who got slots since then. */
            const since = new Map<string, string[]>();
            for (const it of steps) {
              if ('admits' in it) {
                const isSingle = waiting.every(({ owner }) => owner !== it.admits);
                const run = await wait(it.admits);
                waiting.push(run);
                if (isSingle) since.set(run.id, []);
              } else if ('takes' in it) {
                for (const run of await store.take(it.takes)) {
                  waiting.splice(ids(waiting).indexOf(run.id), 1);
                  const before = since.get(run.id);
                  since.delete(run.id);
                  if (before) expect(new Set(before).size).toBe(before.length);
                  for (const others of since.values()) others.push(run.owner);
                }
              } else if (waiting.length > 0) {
                const [run] = waiting.splice(it.cancels % waiting.length, 1);
                await finish(run!, CANCELLED);
                since.delete(run!.id);
              }
            }
            const rest = await take();
            expect(rest.toSorted()).toEqual(ids(waiting).toSorted());
          }),
          { numRuns: casesOf(20) },
        );
      });
    });

    describe('the limit of runs that execute', () => {
      beforeEach(async () => {
        limit = 2;
        await reopenWithLimit();
      });

      it('makes further queries of the owner wait, and no others', async () => {
        const running = [await admit('ann'), await admit('ann')];
        const notices: unknown[] = [];
        const deferred = await admit('ann', {
          notices: (...args) => (args[0] === undefined ? [] : (notices.push(args), [])),
        });
        expect([...running, deferred].map(({ status }) => status)).toEqual(['running', 'running', 'waiting']);
        expect(notices).toEqual([[0, true]]);
        expect(await take()).toEqual([]);
        expect((await admit('bob')).status).toBe('running');
        expect((await finish(running[0]!))!.next).toMatchObject({ id: deferred.id, status: 'waiting' });
        expect(await take()).toEqual([deferred.id]);
        expect((await finish(running[1]!))!.next).toBeUndefined();
      });

      it('lets no more runs become ready than may execute, those first that wait for longest', async () => {
        const waiting: RunRecord[] = [];
        for (let i = 0; i < 5; i++) waiting.push(await wait('ann'));
        expect(await take()).toEqual(ids(waiting.slice(0, 2)));
        expect(await take()).toEqual([]);
        for (const [index, run] of waiting.entries()) {
          const next = waiting[index + 2];
          const finished = await finish((await store.find(run.owner, run.id))!);
          expect(finished!.next?.id).toBe(next?.id);
          expect(await take()).toEqual(next ? [next.id] : []);
        }
      });

      it('counts a query that a younger one must not overtake', async () => {
        const running = [await admit('ann'), await admit('ann')];
        const deferred = await admit('ann');
        await finish(running[0]!);
        // There is a slot, but the older one gets it.
        const younger = await admit('ann');
        expect(younger.status).toBe('waiting');
        expect(await take()).toEqual([deferred.id]);
        await finish(running[1]!);
        expect(await take()).toEqual([younger.id]);
      });

      it('holds for runs that are promoted from the queue of their session', async () => {
        const first = await admit('ann', { session: inSession('s') });
        const behind = await admit('ann', { session: inSession('s') });
        const other = await admit('ann');
        const deferred = await admit('ann');
        // The run behind the first waits for the limit from then on, and so for less long.
        await tick();
        const next = (await finish(first))!.next;
        expect(next).toMatchObject({ id: deferred.id });
        expect(await take()).toEqual([deferred.id]);
        expect(await take()).toEqual([]);
        expect((await finish(other))!.next).toMatchObject({ id: behind.id });
        expect(await take()).toEqual([behind.id]);
      });

      it('gives the place of a run back that is cancelled while it waits', async () => {
        const [first, second] = [await wait('ann'), await wait('ann')];
        const deferred = [await wait('ann'), await wait('ann')];
        await finish(deferred[0]!, CANCELLED);
        expect((await finish(first, CANCELLED))!.next).toMatchObject({ id: deferred[1]!.id });
        expect(await take()).toEqual([second.id, deferred[1]!.id]);
      });

      it('still finds the run of a repeated query', async () => {
        const idempotency = { key: 'k', digest: '1' };
        const run = await admit('ann', { idempotency });
        await admit('ann');
        const deferred = await admit('ann', { idempotency: { key: 'l', digest: '1' } });
        for (const known of [run, deferred]) {
          const key = known === run ? 'k' : 'l';
          const again = admissionOf({
            owner: 'ann',
            idempotency: { key, digest: '1' },
            maxWaitingPerOwner: 0,
          });
          expect(await store.admit(again)).toMatchObject({ created: false, run: { id: known.id } });
        }
      });

      it('is never exceeded, whatever is admitted, taken and ended at the same time', async () => {
        const running = new Map<string, RunRecord>();
        const started = (runs: RunRecord[]) => {
          for (const run of runs) if (run.status === 'running') running.set(run.id, run);
          for (const owner of ['ann', 'bob']) {
            const own = [...running.values()].filter((run) => run.owner === owner);
            expect(own.length).toBeLessThanOrEqual(limit);
          }
        };
        let ended = 0;
        const endOne = async () => {
          const [run] = running.values();
          if (!run) return;
          running.delete(run.id);
          await finish(run);
          ended++;
        };
        for (let i = 0; i < 12; i++) {
          const owner = i % 3 === 0 ? 'bob' : 'ann';
          const session = i % 4 === 0 ? inSession(`s${i % 8}`) : undefined;
          const admitOne = async () => started([await admit(owner, { session })]);
          const takeSome = async () => started(await store.take(2));
          await Promise.all([admitOne(), admitOne(), admitOne(), takeSome(), endOne()]);
        }
        // Each end lets the next run start.
        while (ended < 36) {
          started(await store.take(5));
          expect(running.size).toBeGreaterThan(0);
          await endOne();
        }
        expect(await take()).toEqual([]);
      });
    });

    describe('the limit of runs that wait', () => {
      it('refuses one more query of the owner that would wait, with a time for a retry', async () => {
        const maxWaitingPerOwner = 2;
        const first = await admit('ann', { session: inSession('s') });
        const waiting = [await wait('ann'), await admit('ann', { session: inSession('s') })];
        const refused = await refusalOf(() => wait('ann', { runId: 'refused', maxWaitingPerOwner }));
        expect(refused).toMatchObject({ code: 'rate_limited' });
        expect(refused!.retryAfter).toBeGreaterThan(0);
        expect(await store.find('ann', 'refused')).toBeUndefined();
        const behind = { session: inSession('s'), maxWaitingPerOwner };
        expect(await codeOf(() => admit('ann', behind))).toBe('rate_limited');
        expect((await wait('bob', { maxWaitingPerOwner })).status).toBe('waiting');
        // One that starts does not wait.
        expect((await admit('ann', { maxWaitingPerOwner })).status).toBe('running');
        await finish(waiting[0]!, CANCELLED);
        expect((await wait('ann', { maxWaitingPerOwner })).status).toBe('waiting');
        await finish(first);
        expect(await codeOf(() => wait('ann', { maxWaitingPerOwner }))).toBe('rate_limited');
      });

      it('of 0 refuses what cannot start at once', async () => {
        limit = 1;
        await reopenWithLimit();
        const run = await admit('ann', { maxWaitingPerOwner: 0 });
        expect(await codeOf(() => admit('ann', { maxWaitingPerOwner: 0 }))).toBe('rate_limited');
        await finish(run);
        expect((await admit('ann', { maxWaitingPerOwner: 0 })).status).toBe('running');
      });

      it('is held also if many queries come at the same time', async () => {
        const codes = await Promise.all(
          Array.from({ length: 20 }, () => codeOf(() => wait('ann', { maxWaitingPerOwner: 3 }))),
        );
        expect(codes.filter((code) => code === 'none')).toHaveLength(3);
        expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(17);
      });

      it('is a reason before the capacity of the module, and after all others', async () => {
        const full = { mayStart: false, maxWaiting: 0, maxWaitingPerOwner: 0 };
        expect(await codeOf(() => admit('ann', full))).toBe('rate_limited');
        await admit('ann', { session: inSession('s') });
        const session = { ...inSession('s'), policy: 'reject' as const };
        expect(await codeOf(() => admit('ann', { ...full, session }))).toBe('session_busy');
      });
    });
  });
}
