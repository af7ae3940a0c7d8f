import type { Asking, InputAnswer, RunRecord } from 'nest-agent-query';
import {
  codeOf,
  DONE,
  find,
  finish,
  HOUR,
  inSession,
  logOf,
  newRun,
  refusalOf,
  store,
  take,
  takeAgain,
  textOf,
  tick,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

export const approval = (id = 'a', more: object = {}) => ({
  id,
  kind: 'approval' as const,
  message: 'May I?',
  expiresInMs: HOUR,
  onExpire: 'decline' as const,
  ...more,
});
export const asking = (...requests: Asking['requests']): Asking => ({
  requests: requests.length > 0 ? requests : [approval()],
  state: undefined,
  survives: false,
  maxAsking: 1_000,
});
export const YES = { approved: true };
export const yes = (id = 'a'): InputAnswer => ({ id, outcome: 'answered', value: YES });
const no = (id = 'a'): InputAnswer => ({ id, outcome: 'declined' });
export const lets = async (run: RunRecord, what = asking()) => store.inputs!.ask(run, what);
export const answer = async (run: RunRecord, ...answers: InputAnswer[]) =>
  store.inputs!.answer(run, { answers, by: 'ann', detached: false });
export const inputs = async (run: RunRecord) => store.inputs!.of(run);
export const resolvedOf = (line: string | undefined) =>
  (JSON.parse(line!) as { data: { answers: object[] } }).data.answers;

/** What runs ask, and how it is answered. */
export function describeInputs(): void {
  describe('a run that asks', () => {
    it('has the envelope in its log, the status, and its requests with their times', async () => {
      const run = await newRun();
      await store.append(run, textOf('before'));
      const { text, seq } = await lets(run, asking(approval('a', { name: 'refund' }), approval('b')));
      expect(seq).toBe(2);
      expect(await logOf(run)).toEqual([textOf('before'), text]);
      expect(await find(run)).toMatchObject({ status: 'input_required', lastSeq: 2, attempt: 1 });
      const all = await inputs(run);
      expect(JSON.parse(text)).toEqual({
        type: 'input_required',
        data: { requests: all.map(({ request }) => request) },
      });
      const [first] = all;
      const { expiresAt, ...request } = first!.request;
      expect(request).toEqual({
        id: 'a',
        kind: 'approval',
        message: 'May I?',
        name: 'refund',
        onExpire: 'decline',
      });
      expect(Date.parse(expiresAt)).toBe(first!.askedAt + HOUR);
      expect(first).toMatchObject({ runId: run.id, sessionId: undefined, resolved: undefined });
      expect(await store.read(run, 2)).toMatchObject({ count: 0, ended: false, asks: true });
    });

    it('has another time for each pause, however soon it asks again', async () => {
      const now = Date.now();
      Date.now = () => now;
      const run = await newRun();
      await lets(run, asking(approval('a'), approval('b')));
      await answer(run, yes('a'), yes('b'));
      const [again] = await store.take(9);
      await lets(again!, asking(approval('c')));
      const [a, b, c] = (await inputs(run)).map(({ askedAt }) => askedAt);
      expect(b).toBe(a);
      expect(c).toBeGreaterThan(b!);
      expect((await logOf(run)).at(-1)).toContain(`"expiresAt":"${new Date(c! + HOUR).toISOString()}"`);
    });

    it('does not execute: nothing is appended, asked or taken', async () => {
      const run = await newRun();
      await lets(run);
      await store.append(run, textOf('too late'));
      expect(await codeOf(() => lets(run, asking(approval('b'))))).toBe('interrupted');
      expect(await take()).toEqual([]);
      expect(await find(run)).toMatchObject({ lastSeq: 1 });
    });

    it('cannot ask if this process does not execute it at this attempt', async () => {
      const run = await newRun();
      for (const other of [
        { ...run, owner: 'bob' },
        { ...run, attempt: 2 },
        { ...run, id: 'unknown' },
      ])
        expect(await codeOf(() => lets(other))).toBe('interrupted');
      await finish(run);
      expect(await codeOf(() => lets(run))).toBe('interrupted');
    });

    it('waits when all is answered, is taken at the same attempt, and goes on', async () => {
      const run = await newRun();
      await lets(run, asking(approval('a'), approval('b')));
      const first = await answer(run, yes('b'));
      expect(first).toMatchObject({ run: { status: 'input_required' }, before: 1, isReady: false });
      expect(first.inputs.map(({ request }) => request.id)).toEqual(['b']);
      const second = await answer(run, no('a'));
      expect(second).toMatchObject({ run: { status: 'waiting', lastSeq: 3 }, before: 2, isReady: true });
      expect(resolvedOf((await logOf(run))[1])).toMatchObject([
        { id: 'b', outcome: 'answered', value: YES, by: 'ann' },
      ]);
      expect(resolvedOf((await logOf(run))[2])).toMatchObject([{ id: 'a', outcome: 'declined', by: 'ann' }]);
      const taken = await takeAgain(run);
      expect(taken).toMatchObject({ status: 'running', attempt: 1, startedAt: run.startedAt });
      await store.append(taken, textOf('after'));
      expect((await finish(taken))?.run).toMatchObject({ status: 'completed', lastSeq: 5 });
      expect((await logOf(run)).slice(3)).toEqual([textOf('after'), DONE]);
    });

    it('may ask again, and all its requests are listed in order', async () => {
      const run = await newRun();
      await lets(run);
      await answer(run, yes());
      await takeAgain(run);
      await lets(run, asking(approval('b'), approval('c')));
      expect((await inputs(run)).map(({ request, resolved }) => [request.id, resolved?.outcome])).toEqual([
        ['a', 'answered'],
        ['b', undefined],
        ['c', undefined],
      ]);
      expect(await answer(run, yes())).toMatchObject({ inputs: [], before: 1, isReady: false });
    });

    it('is detached by an answer that says so', async () => {
      const run = await newRun();
      await lets(run);
      await store.inputs!.answer(run, { answers: [yes()], by: 'ann', detached: true });
      expect(await find(run)).toMatchObject({ detached: true });
    });
  });

  describe('an answer', () => {
    it('is the first one: the same is accepted again, and another one is refused with what counts', async () => {
      const run = await newRun();
      await lets(run);
      await answer(run, yes());
      expect(await answer(run, yes())).toMatchObject({ inputs: [], before: 1, isReady: false });
      const refused = await refusalOf(() => answer(run, no()));
      expect(refused).toMatchObject({
        code: 'input_resolved',
        answers: [{ id: 'a', outcome: 'answered', value: YES, by: 'ann' }],
      });
      await finish(await takeAgain(run));
      expect(await answer(run, yes())).toMatchObject({ inputs: [], run: { status: 'completed' } });
      expect(await logOf(run)).toHaveLength(3);
    });

    it('counts with all others of its call, or none of them does', async () => {
      const run = await newRun();
      await lets(run, asking(approval('a'), approval('b')));
      expect(await codeOf(() => answer(run, yes('a'), yes('unknown')))).toBe('not_found');
      await answer(run, no('b'));
      expect(await codeOf(() => answer(run, yes('a'), yes('b')))).toBe('input_resolved');
      expect((await inputs(run)).map(({ resolved }) => resolved?.outcome)).toEqual([undefined, 'declined']);
      expect(await find(run)).toMatchObject({ status: 'input_required', lastSeq: 2 });
    });

    it('of two at the same time, one counts', async () => {
      const run = await newRun();
      await lets(run);
      const outcomes = await Promise.all([yes(), no()].map((each) => codeOf(() => answer(run, each))));
      expect(outcomes.sort()).toEqual(['input_resolved', 'none']);
      expect(await logOf(run)).toHaveLength(2);
    });

    it('finds no run of another owner', async () => {
      const run = await newRun();
      await lets(run);
      expect(await codeOf(() => answer({ ...run, owner: 'bob' }, yes()))).toBe('not_found');
      expect(await codeOf(() => answer({ ...run, id: 'unknown' }, yes()))).toBe('not_found');
      expect(await inputs({ ...run, owner: 'bob' })).toEqual([]);
      expect(await store.inputs!.ownerOf(run.id)).toBe('anonymous');
      expect(await store.inputs!.ownerOf('unknown')).toBeUndefined();
    });

    it('to a private request is known to the run, and not to its log', async () => {
      const run = await newRun();
      await lets(run, asking(approval('a', { kind: 'input', private: true })));
      await answer(run, { id: 'a', outcome: 'answered', value: 'secret' });
      expect((await inputs(run))[0]!.resolved).toMatchObject({ value: 'secret' });
      expect((await logOf(run)).join()).not.toContain('secret');
      const other = await refusalOf(() => answer(run, { id: 'a', outcome: 'answered', value: 'x' }));
      expect(JSON.stringify(other)).not.toContain('secret');
    });
  });

  describe('the open requests of an owner', () => {
    it('are listed newest first, in pages, and are counted', async () => {
      const runs: RunRecord[] = [];
      for (let i = 0; i < 3; i++) {
        const run = await newRun(i === 1 ? { session: inSession('s') } : {});
        await lets(run, asking(approval('a'), approval('b')));
        runs.push(run);
        await tick();
      }
      const other = await newRun({ owner: 'bob' });
      await lets(other);
      expect(await store.inputs!.countOpen()).toBe(7);
      await answer(runs[0]!, yes('a'));
      const seen: [string, string][] = [];
      let after: Parameters<NonNullable<typeof store.inputs>['open']>[1]['after'];
      do {
        const page = await store.inputs!.open('anonymous', { after, limit: 2 });
        expect(page.inputs.length).toBeLessThanOrEqual(2);
        seen.push(...page.inputs.map(({ runId, request }): [string, string] => [runId, request.id]));
        after = page.next;
      } while (after);
      expect(seen).toEqual([
        [runs[2]!.id, 'b'],
        [runs[2]!.id, 'a'],
        [runs[1]!.id, 'b'],
        [runs[1]!.id, 'a'],
        [runs[0]!.id, 'b'],
      ]);
      const [bobs] = (await store.inputs!.open('bob', { after: undefined, limit: 9 })).inputs;
      expect(bobs).toMatchObject({ runId: other.id, sessionId: undefined });
    });
  });
}
