import { createHash } from 'node:crypto';
import type { Admission } from 'nest-agent-query';
import {
  admit,
  admitTo,
  CANCELLED,
  codeOf,
  COMPLETED,
  DONE,
  finish,
  ids,
  inSession,
  keptAnswer,
  logOf,
  store,
  take,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

export const OWNER = 'anonymous';
/** Longer than what pages show of a text. */
export const LONG = 'x'.repeat(70_000);

export const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
export const replacing = (id: string, afterTurn: number) => ({ session: { ...inSession(id), afterTurn } });
export const textsOf = async (id: string, owner = OWNER) =>
  (await store.turns(owner, id, { after: 0, limit: 99 }))?.turns.map(({ text }) => text);
const following = (id: string, afterRun: string) => ({ session: { ...inSession(id), afterRun } });
export const fork = async (sessionId: string | undefined, afterTurn: number, newId: string, owner = OWNER) =>
  store.fork(owner, { sessionId, afterTurn, newId });

/** Asks in a session, and ends the run with a text. */
export async function answer(id: string, text: string, admission: Partial<Admission> = {}) {
  return (await answerIn(id, text, admission)).run;
}

async function answerIn(id: string, text: string, admission: Partial<Admission>) {
  const admitted = await admitTo(id, admission);
  await finish(admitted.run, COMPLETED, text);
  return admitted;
}

/** Admissions that replace or follow what their session has, and what a caller needs for it: the parts of a query. */
export function describeReplacedTurns(): void {
  describe('an admission that replaces turns', () => {
    it('removes the turns after a number, and follows those before', async () => {
      for (const text of ['1', '2', '3']) await answer('s', text);
      const { run } = await admitTo('s', replacing('s', 1));
      expect(await textsOf('s')).toEqual(['1']);
      await finish(run, COMPLETED, 'two');
      expect(await store.turns(OWNER, 's', { after: 1, limit: 9 })).toMatchObject({
        turns: [{ runId: run.id, text: 'two' }],
        last: 2,
        total: 2,
      });
    });

    it('may replace all turns, or none, also of a session that does not exist', async () => {
      const parts = (text: string): Admission['parts'] => [{ type: 'text', text }];
      await answer('new', '1', { ...replacing('new', 0), parts: parts('One') });
      expect(await textsOf('new')).toEqual(['1']);
      await answer('new', '2', replacing('new', 1));
      expect(await textsOf('new')).toEqual(['1', '2']);
      await answer('new', 'other', { ...replacing('new', 0), parts: parts('Another') });
      expect(await textsOf('new')).toEqual(['other']);
      const { sessions } = await store.sessions(OWNER, { after: undefined, limit: 9 });
      expect(sessions).toMatchObject([{ id: 'new', title: 'Another', turns: 1 }]);
    });

    it('is refused while a run of the session has not ended, whatever the policy is', async () => {
      await answer('s', '1');
      const { run } = await admitTo('s');
      for (const policy of ['enqueue', 'reject', 'interrupt'] as const) {
        const session = { ...inSession('s'), policy, afterTurn: 0 };
        expect(await codeOf(() => admitTo('s', { session }))).toBe('session_busy');
      }
      expect(await textsOf('s')).toEqual(['1']);
      expect(ids(await store.queue(OWNER, 's'))).toEqual([run.id]);
    });

    it('is refused if the session has fewer turns', async () => {
      await answer('s', '1');
      expect(await codeOf(() => admitTo('s', replacing('s', 2)))).toBe('invalid_query');
      expect(await codeOf(() => admitTo('t', replacing('t', 1)))).toBe('invalid_query');
      expect(await textsOf('s')).toEqual(['1']);
      expect(await textsOf('t')).toBeUndefined();
    });

    it('removes nothing if it is refused for another reason', async () => {
      await answer('s', '1');
      const full = { ...replacing('s', 0), mayStart: false, maxWaiting: 0 };
      expect(await codeOf(() => admitTo('s', full))).toBe('at_capacity');
      expect(await textsOf('s')).toEqual(['1']);
    });

    it('does not replace again with a repeated idempotency key', async () => {
      await answer('s', '1');
      const again = { ...replacing('s', 0), idempotency: { key: 'k', digest: 'd' } };
      const run = await answer('s', 'one', again);
      await answer('s', '2');
      expect(await admitTo('s', again)).toMatchObject({ created: false, run: { id: run.id } });
      expect(await textsOf('s')).toEqual(['one', '2']);
    });

    it('leaves the runs of the turns and their logs, and removes their long texts', async () => {
      const run = await answer('s', LONG);
      await answer('s', 'one', replacing('s', 0));
      expect(await store.find(OWNER, run.id)).toMatchObject({ id: run.id, sessionId: 's' });
      expect(await logOf(run)).toEqual([DONE]);
      expect(await store.part(OWNER, run.id, digestOf(LONG))).toBeUndefined();
    });

    it('leaves sessions of the same id of other owners alone', async () => {
      await answer('s', 'ann', { owner: 'ann' });
      await answer('s', '1');
      await answer('s', 'one', replacing('s', 0));
      expect(await textsOf('s', 'ann')).toEqual(['ann']);
    });
  });

  describe('an admission that follows a run', () => {
    it('is refused unless the newest turn of its session is of this run, and no run of it is unfinished', async () => {
      const first = await answer('s', '1');
      const second = await answer('s', '2', following('s', first.id));
      for (const id of [first.id, 'none'])
        expect(await codeOf(() => admitTo('s', following('s', id)))).toBe('session_busy');
      expect(await codeOf(() => admitTo('t', following('t', second.id)))).toBe('session_busy');
      const { run } = await admitTo('s', following('s', second.id));
      expect(await codeOf(() => admitTo('s', following('s', second.id)))).toBe('session_busy');
      await finish(run, COMPLETED, '3');
      expect(await textsOf('s')).toEqual(['1', '2', '3']);
      await fork('s', 2, 'f');
      await answer('f', 'f3', following('f', second.id));
      expect(await textsOf('f')).toEqual(['1', '2', 'f3']);
    });
  });

  describe('an admission that replaces a run', () => {
    const instead = (id: string, replaces: string) => ({ session: { ...inSession(id), replaces } });

    it('removes the turn of a run that has ended, and those after it', async () => {
      await answer('s', '1');
      const second = await answer('s', '2');
      await answer('s', '3');
      const { ahead } = await answerIn('s', 'two', instead('s', second.id));
      expect(ahead).toEqual([]);
      expect(await textsOf('s')).toEqual(['1', 'two']);
      await answer('s', 'more', instead('s', 'none'));
      expect(await textsOf('s')).toEqual(['1', 'two', 'more']);
    });

    it('waits for a run that has not ended, which gets no turn, whatever the policy is', async () => {
      for (const policy of ['enqueue', 'reject', 'interrupt'] as const) {
        await answer(policy, '1');
        const first = (await admitTo(policy)).run;
        const session = { ...instead(policy, first.id).session, policy };
        const { run, ahead } = await admitTo(policy, { session });
        expect([run.status, ids(ahead)]).toEqual(['waiting', [first.id]]);
        const ended = await store.end(first, CANCELLED, keptAnswer(LONG));
        expect(ended).toMatchObject({ isReplaced: true, next: { id: run.id } });
        expect(await textsOf(policy)).toEqual(['1']);
        expect(await store.part(OWNER, first.id, digestOf(LONG))).toBeUndefined();
        expect(await take()).toEqual([run.id]);
        const last = await finish(run, COMPLETED, 'one');
        expect(last?.isReplaced ?? false).toBe(false);
        expect(await textsOf(policy)).toEqual(['1', 'one']);
      }
    });

    it('gives a session its title that has no other turn', async () => {
      const first = (await admitTo('s')).run;
      const parts: Admission['parts'] = [{ type: 'text', text: 'Again' }];
      const { run } = await admitTo('s', { ...instead('s', first.id), parts });
      await finish(first, CANCELLED);
      await take();
      await finish(run, COMPLETED, '1');
      const { sessions } = await store.sessions(OWNER, { after: undefined, limit: 9 });
      expect(sessions).toMatchObject([{ id: 's', title: 'Again', turns: 1 }]);
    });

    it('is refused while another run of the session has not ended', async () => {
      const first = (await admitTo('s')).run;
      const second = (await admitTo('s')).run;
      expect(await codeOf(() => admitTo('s', instead('s', first.id)))).toBe('session_busy');
      expect(await codeOf(() => admitTo('s', instead('s', second.id)))).toBe('session_busy');
      expect(ids(await store.queue(OWNER, 's'))).toEqual([first.id, second.id]);
      await finish(first, COMPLETED, '1');
      expect(await textsOf('s')).toEqual(['1']);
    });

    it('changes nothing if it is refused for another reason', async () => {
      const ended = await answer('s', '1');
      const full = { mayStart: false, maxWaiting: 0 };
      expect(await codeOf(() => admitTo('s', { ...instead('s', ended.id), ...full }))).toBe('at_capacity');
      const { run } = await admitTo('s');
      expect(await codeOf(() => admitTo('s', { ...instead('s', run.id), ...full }))).toBe('at_capacity');
      await finish(run, COMPLETED, '2');
      expect(await textsOf('s')).toEqual(['1', '2']);
    });
  });

  describe('the parts of a query', () => {
    it('are known until the run has ended', async () => {
      const parts: Admission['parts'] = [{ type: 'text', text: LONG, earlier: 'user' }];
      const { run } = await admitTo('s', { parts });
      const { run: other } = await admit({ parts });
      for (const each of [run, other]) expect(await store.parts(each)).toEqual(parts);
      const codes = [
        { ...run, owner: 'bob' },
        { ...run, id: 'none' },
      ].map((ref) => codeOf(async () => store.parts(ref)));
      expect(await Promise.all(codes)).toEqual(['not_found', 'not_found']);
      for (const each of [run, other]) {
        await finish(each, COMPLETED, '1');
        expect(await codeOf(async () => store.parts(each))).toBe('not_found');
      }
    });
  });
}
