import type { DeliveryResult, RunRecord, TakenDelivery, WebhookEvent } from 'nest-agent-query';
import { asking, answer, lets, yes } from './inputs.js';
import {
  admit,
  CANCELLED,
  COMPLETED,
  eventually,
  FAILED,
  find,
  finish,
  HOUR,
  ids,
  inSession,
  itWith,
  later,
  newRun,
  reopen,
  restart,
  store,
  textOf,
  tick,
  wait,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

const ALL: WebhookEvent[] = ['run.completed', 'run.failed', 'run.cancelled', 'run.input_required'];
const DELIVERED: DeliveryResult = { status: 'delivered' };
const LOST: DeliveryResult = { status: 'failed', error: 'The endpoint has answered 500.' };
const notYet = (afterMs: number): DeliveryResult => ({ status: 'waiting', error: 'No answer.', afterMs });

const refOf = (key: string) => ({ key, address: `${key} 1` });
/** These endpoints get all events of runs of all modules. */
const events = (...keys: string[]) => ({
  endpoints: (_: string, event: WebhookEvent) => (ALL.includes(event) ? keys : []),
});
const take = async (key = 'crm', count = 9) => store.deliveries!.take(refOf(key), count);
const settle = async (taken: TakenDelivery | undefined, result: DeliveryResult = DELIVERED) =>
  store.deliveries!.settle(taken!, result);
const of = async (run: RunRecord) => store.deliveries!.of(run);
const eventsOfRun = async (run: RunRecord) => (await of(run)).map(({ event }) => event);
const sendAgain = async ({ owner, id: runId }: Pick<RunRecord, 'owner' | 'id'>, id: string, key = 'crm') =>
  store.deliveries!.sendAgain({ owner, id: runId }, id, [refOf(key)]);
const runsOf = (taken: TakenDelivery[]) => taken.map(({ delivery }) => delivery.runId);

/** The webhooks of runs. */
export function describeDeliveries(): void {
  describe('the webhooks of a run', () => {
    it('are one for each endpoint that wants the event, made with the end', async () => {
      await reopen(
        {},
        {
          endpoints: (module, event) =>
            module === 'reports' && event === 'run.failed' ? ['reports/crm', 'reports/log'] : [],
        },
      );
      const run = await newRun({ module: 'reports' });
      await store.append(run, textOf('a'));
      expect(await of(run)).toEqual([]);
      await finish(run, FAILED);
      const [crm, log, ...others] = await of(run);
      const expected = {
        ...{ runId: run.id, event: 'run.failed', seq: 2, inputs: undefined, status: 'waiting', tries: 0 },
        ...{ triedAt: undefined, error: undefined },
      };
      expect(crm).toMatchObject({ ...expected, endpoint: 'reports/crm' });
      expect(log).toMatchObject({ ...expected, endpoint: 'reports/log' });
      expect(others).toEqual([]);
      for (const { id } of [crm!, log!]) expect(/^msg_[\w-]{32}$/.test(id)).toBe(true);
      expect(crm!.id).not.toBe(log!.id);
      const { endedAt } = (await find(run))!;
      expect([crm!.createdAt, crm!.dueAt]).toEqual([endedAt, endedAt]);
      const other = await newRun();
      await finish(other, FAILED);
      expect(await of(other)).toEqual([]);
    });

    it('are made once, whatever ends the run: a session, a cancelled wait, a second end', async () => {
      await reopen({}, events('crm'));
      const first = await newRun({ session: inSession('s') });
      const second = await wait({ session: inSession('s') });
      await finish(first);
      await finish(second, CANCELLED);
      expect(await finish(first, FAILED)).toBeUndefined();
      expect(await eventsOfRun(first)).toEqual(['run.completed']);
      expect(await eventsOfRun(second)).toEqual(['run.cancelled']);
    });

    itWith('inputs')('tell that it asks, with the ids of its requests, and how it ends', async () => {
      await reopen({}, events('crm'));
      const run = await newRun();
      await store.append(run, textOf('a'));
      const { seq } = await lets(run, asking());
      await answer(run, yes());
      const [again] = await store.take(9);
      await lets(again!, asking({ ...asking().requests[0]!, id: 'b' }));
      await finish(again!, CANCELLED);
      const all = await of(run);
      expect(all.map(({ event }) => event)).toEqual([
        ...['run.input_required', 'run.input_required', 'run.cancelled'],
      ]);
      expect(all.map(({ inputs }) => inputs)).toEqual([['a'], ['b'], undefined]);
      expect(all[0]!.seq).toBe(seq);
      expect(all[2]!.seq).toBe((await find(run))!.lastSeq);
    });

    itWith('inputs')(
      'tell the end of a run that is superseded, and of one whose request expires',
      async () => {
        const resolved: string[] = [];
        await reopen({}, { ...events('crm'), resolved: ({ run }) => resolved.push(run.id) });
        const superseded = await newRun({ session: inSession('s') });
        await lets(superseded);
        await admit({ session: inSession('s') });
        expect(await eventsOfRun(superseded)).toEqual(['run.input_required', 'run.cancelled']);
        const expired = await newRun();
        const [request] = asking().requests;
        await lets(expired, asking({ ...request!, expiresInMs: 1, onExpire: 'fail' }));
        await eventually(() => resolved.includes(expired.id));
        expect(await eventsOfRun(expired)).toEqual(['run.input_required', 'run.failed']);
      },
    );

    it('are taken once, those that are due for longest first, with their runs', async () => {
      await reopen({}, events('crm'));
      const older = await newRun();
      await finish(older);
      await tick();
      const newer = await newRun();
      await finish(newer, FAILED);
      expect(await take('log')).toEqual([]);
      const [first] = await take('crm', 1);
      expect(first).toMatchObject({
        delivery: { runId: older.id, event: 'run.completed' },
        run: { id: older.id, owner: 'anonymous', end: COMPLETED },
        isDisabled: false,
      });
      expect(runsOf(await take())).toEqual([newer.id]);
      expect(await take()).toEqual([]);
    });

    itWith('inputs')('are taken one after another, in the order of the events', async () => {
      await reopen({}, events('crm'));
      const run = await newRun();
      await lets(run);
      await finish(run, CANCELLED);
      for (const event of ['run.input_required', 'run.cancelled']) {
        const [taken, ...others] = await take();
        expect([taken!.delivery.event, others]).toEqual([event, []]);
        expect(await take()).toEqual([]);
        await settle(taken, event === 'run.cancelled' ? DELIVERED : LOST);
      }
      expect(await take()).toEqual([]);
    });

    it('are due again after a pause, for a day and longer', async () => {
      await reopen({}, events('crm'));
      const run = await newRun();
      await finish(run);
      for (const [hours, tries] of [
        [1, 1],
        [24, 2],
      ] as const) {
        const [taken] = await take();
        await settle(taken, notYet(hours * HOUR));
        expect(await take()).toEqual([]);
        const [waits] = await of(run);
        expect(waits).toMatchObject({ status: 'waiting', tries, error: 'No answer.' });
        expect(waits!.dueAt! - waits!.triedAt!).toBe(hours * HOUR);
        await later(hours * HOUR - 1_000);
        expect(await take()).toEqual([]);
        await later(2_000);
      }
      const [taken] = await take();
      await settle(taken);
      expect(await of(run)).toMatchObject([{ status: 'delivered', tries: 3 }]);
      expect((await of(run))[0]).toMatchObject({ dueAt: undefined, error: undefined });
      await later(100 * HOUR);
      expect(await take()).toEqual([]);
    });

    itWith('inputs')('are not due before an earlier one of the run', async () => {
      await reopen({}, events('crm'));
      const run = await newRun();
      await lets(run);
      const [asked] = await take();
      await settle(asked, notYet(HOUR));
      await finish(run, CANCELLED);
      expect(await take()).toEqual([]);
      await later(HOUR + 1);
      expect((await take()).map(({ delivery }) => delivery.event)).toEqual(['run.input_required']);
    });

    it('can be sent again, by their owner only, as if they had not been tried', async () => {
      await reopen({}, events('crm'));
      const run = await newRun();
      await finish(run);
      const [taken] = await take();
      const { id } = taken!.delivery;
      // It is being tried.
      expect(await sendAgain(run, id)).toMatchObject({ id, tries: 0 });
      expect(await take()).toEqual([]);
      for (const result of [LOST, DELIVERED]) {
        await settle(taken, result);
        expect(await sendAgain(run, id)).toMatchObject({ id, status: 'waiting', tries: 0 });
        expect((await take()).map(({ delivery }) => delivery.id)).toEqual([id]);
      }
      await settle(taken);
      expect(await sendAgain({ ...run, owner: 'mallory' }, id)).toBeUndefined();
      expect(await sendAgain(run, 'msg_unknown')).toBeUndefined();
      expect(await sendAgain(run, '\0')).toBeUndefined();
      expect(await sendAgain(run, id, 'log')).toBeUndefined();
      expect(await of({ ...run, owner: 'mallory' })).toEqual([]);
      expect(await of(run)).toMatchObject([{ status: 'delivered' }]);
    });

    it('find their endpoint disabled, until one is sent again or its URL is another one', async () => {
      await reopen({}, events('crm'));
      const runs = [await newRun(), await newRun()];
      for (const run of runs) await finish(run);
      const [one, other] = await take();
      await store.deliveries!.disable(refOf('crm'));
      await store.deliveries!.disable(refOf('crm'));
      await settle(one, LOST);
      await settle(other, notYet(1));
      await later(2);
      const [disabled] = await take();
      expect(disabled!.isDisabled).toBe(true);
      await settle(disabled, notYet(1));
      await later(2);
      const [moved] = await store.deliveries!.take({ key: 'crm', address: 'crm 2' }, 9);
      expect(moved!.isDisabled).toBe(false);
      await sendAgain(one!.run, one!.delivery.id);
      expect((await take()).map(({ isDisabled }) => isDisabled)).toEqual([false]);
    });

    it('are gone with their run', async () => {
      await reopen({}, events('crm'));
      const run = await newRun({ session: inSession('s') });
      await finish(run);
      await store.erase('anonymous', 's');
      expect(await of(run)).toEqual([]);
      expect(await take()).toEqual([]);
    });

    itWith('retention')('are gone with the retention of their run', async () => {
      await reopen({ runMs: HOUR }, events('crm'));
      const run = await newRun();
      await finish(run);
      await later(HOUR + 1);
      expect(await find(run)).toBeUndefined();
      expect(await of(run)).toEqual([]);
      expect(await take()).toEqual([]);
    });
  });
}

/** The webhooks of runs, after a crash. */
export function describeRestartedDeliveries(): void {
  describe('the webhooks of runs after a crash', () => {
    it('are taken again, also those that were being tried', async () => {
      await reopen({}, events('crm'));
      const runs = [await newRun(), await newRun(), await newRun()];
      for (const run of runs) await finish(run);
      const [delivered, tried] = await take('crm', 2);
      await settle(delivered);
      await restart(events('crm'));
      expect(runsOf(await take()).sort()).toEqual(ids(runs).filter((id) => id !== delivered!.run.id));
      // Who has taken it before has no say any more.
      await settle(tried, LOST);
      expect(await of(tried!.run)).toMatchObject([{ status: 'waiting', tries: 0 }]);
    });

    it('tell that a run was interrupted', async () => {
      await reopen({}, events('crm'));
      const run = await newRun();
      await restart(events('crm'));
      expect(await eventsOfRun(run)).toEqual(['run.failed']);
    });
  });
}
