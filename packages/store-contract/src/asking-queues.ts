import type { OnAsking } from 'nest-agent-query';
import { approval, answer, asking, lets, yes } from './inputs.js';
import {
  admit,
  codeOf,
  find,
  finish,
  inSession,
  newRun,
  reopen,
  store,
  take,
  takeAgain,
  tick,
  wait,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

const session = (onAsking?: OnAsking, policy: 'enqueue' | 'reject' = 'enqueue') => ({
  ...inSession('s'),
  policy,
  ...(onAsking && { onAsking }),
});

/** What newer queries of a session do to a run that asks. */
export function describeAskingSessions(): void {
  describe('a newer query of the session of a run that asks', () => {
    it('takes its place, and starts at once', async () => {
      const run = await newRun({ session: session() });
      await lets(run, asking(approval('a', { toolCallId: 'call' })));
      const { run: newer, ahead, superseded } = await admit({ session: session() });
      expect(newer.status).toBe('running');
      expect(ahead).toEqual([]);
      expect(superseded).toMatchObject({ run: { id: run.id, status: 'cancelled' } });
      expect(superseded?.inputs.map(({ resolved }) => resolved?.outcome)).toEqual(['superseded']);
      expect(await find(run)).toMatchObject({ end: { status: 'cancelled' } });
      const page = await store.turns('anonymous', 's', { after: undefined, limit: 1 });
      expect(page?.turns[0]?.envelopes.at(-1)).toEqual({
        type: 'tool_result',
        data: {
          id: 'call',
          content: 'Not executed: the user has sent another message instead of an answer.',
          isError: true,
        },
      });
      expect(await codeOf(() => answer(run, yes()))).toBe('run_ended');
    });

    it('takes its place also where the session refuses queries', async () => {
      const run = await newRun({ session: session(undefined, 'reject') });
      await lets(run);
      expect(await admit({ session: session(undefined, 'reject') })).toMatchObject({ created: true });
      expect(await find(run)).toMatchObject({ status: 'cancelled' });
    });

    it('waits behind it with "enqueue", or if it holds', async () => {
      const run = await newRun({ session: session('enqueue') });
      await lets(run, asking(approval('a', { hold: true }), approval('b')));
      for (const onAsking of ['enqueue', 'supersede'] as const)
        expect(await admit({ session: session(onAsking) })).toMatchObject({ run: { status: 'waiting' } });
      expect(await codeOf(() => admit({ session: session('supersede', 'reject') }))).toBe('session_busy');
      expect(await take()).toEqual([]);
      await answer(run, yes('a'));
      expect(await admit({ session: session() })).toMatchObject({ superseded: { run: { id: run.id } } });
    });

    it('that replaces it takes its place whatever "onAsking" and "hold" say, and leaves no turn of it', async () => {
      for (const onAsking of ['reject', 'supersede'] as const) {
        const run = await newRun({ session: session(onAsking) });
        await lets(run, asking(approval('a', { hold: true })));
        const newer = await admit({ session: { ...session(onAsking), replaces: run.id } });
        expect(newer).toMatchObject({
          run: { status: 'running' },
          ahead: [],
          superseded: { run: { id: run.id } },
        });
        expect((await store.turns('anonymous', 's', { after: 0, limit: 9 }))?.turns).toEqual([]);
        await finish(newer.run);
        expect(await store.erase('anonymous', 's')).toBe(true);
      }
    });

    it('is refused with "reject"', async () => {
      const run = await newRun({ session: session('reject') });
      await lets(run);
      expect(await codeOf(() => admit({ session: session('reject') }))).toBe('session_busy');
      expect(await find(run)).toMatchObject({ status: 'input_required' });
    });

    it('lets the queries that were waiting before go first', async () => {
      const run = await newRun({ session: session() });
      const older = await wait({ session: session() });
      await lets(run);
      expect(await take()).toEqual([]);
      const newer = await admit({ session: session() });
      expect(newer.run.status).toBe('waiting');
      expect(await take()).toEqual([older.id]);
      const sessions = await store.sessions('anonymous', { after: undefined, limit: 1 });
      expect(sessions.sessions[0]).toMatchObject({ active: older.id, asking: undefined });
    });

    it('that is refused for another reason leaves it as it was', async () => {
      const run = await newRun({ session: session() });
      await lets(run);
      const full = { session: session(), mayStart: false, maxWaiting: 0 };
      expect(await codeOf(() => admit(full))).toBe('at_capacity');
      expect(await find(run)).toMatchObject({ status: 'input_required' });
      const sessions = await store.sessions('anonymous', { after: undefined, limit: 1 });
      expect(sessions.sessions[0]).toMatchObject({ active: undefined, asking: run.id });
      const listed = { after: undefined, limit: 9, status: 'input_required' } as const;
      expect((await store.runs('anonymous', listed)).runs.map(({ id }) => id)).toEqual([run.id]);
    });
  });
}

/** How runs that ask count for the limits of their owner. */
export function describeAskingOwners(): void {
  describe('the owner of runs that ask', () => {
    it('may have as many of them as the limit says', async () => {
      const [first, second] = [await newRun(), await newRun()];
      await lets(first, { ...asking(), maxAsking: 1 });
      expect(await codeOf(() => lets(second, { ...asking(), maxAsking: 1 }))).toBe('rate_limited');
      expect(await find(second)).toMatchObject({ status: 'running', lastSeq: 0 });
      const others = await newRun({ owner: 'bob' });
      await lets(others, { ...asking(), maxAsking: 1 });
      await answer(first, yes());
      await lets(second, { ...asking(), maxAsking: 1 });
    });

    it('executes other runs meanwhile, and an answered run is the first of those that wait', async () => {
      await reopen({}, { maxRunningPerOwner: () => 1 });
      const run = await newRun();
      const [second, third] = [await wait(), await wait()];
      expect(await take()).toEqual([]);
      await lets(run);
      expect(await take()).toEqual([second.id]);
      await answer(run, yes());
      expect(await take()).toEqual([]);
      await finish((await find(second))!);
      expect((await takeAgain(run)).attempt).toBe(1);
      await finish((await find(run))!);
      expect(await take()).toEqual([third.id]);
    });

    it('gets slots in turn with others, also for runs that were answered', async () => {
      const runs = [await newRun(), await newRun()];
      for (const run of runs) await lets(run);
      const younger = await wait();
      await tick();
      const others = await wait({ owner: 'bob' });
      for (const run of runs) await answer(run, yes());
      expect(await take()).toEqual([runs[0]!.id, others.id, runs[1]!.id, younger.id]);
    });
  });
}
