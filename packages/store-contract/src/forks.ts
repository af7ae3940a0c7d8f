import { admitTo, codeOf, COMPLETED, finish, ids, inSession, refusalOf, store } from './opened-store.js';
import { answer, fork, OWNER, textsOf } from './replaced-turns.js';
import { describe, expect, it } from './runner.js';

/** Sessions that begin with the turns of another one. */
export function describeForks(): void {
  describe('an admission that forks', () => {
    const forking = (id: string, sessionId: string, afterTurn: number) => ({
      session: { ...inSession(id), fork: { sessionId, afterTurn } },
    });

    it('makes its session of the first turns of another one', async () => {
      for (const text of ['1', '2', '3']) await answer('s', text);
      await answer('f', 'f3', forking('f', 's', 2));
      expect([await textsOf('s'), await textsOf('f')]).toEqual([
        ['1', '2', '3'],
        ['1', '2', 'f3'],
      ]);
      const { sessions } = await store.sessions(OWNER, { after: undefined, limit: 1 });
      expect(sessions).toMatchObject([{ id: 'f', title: 'Hello', turns: 3 }]);
    });

    it('follows the turns of a session that exists', async () => {
      for (const id of ['s', 'f']) await answer(id, id);
      await answer('f', 'f2', forking('f', 's', 1));
      expect(await textsOf('f')).toEqual(['f', 'f2']);
    });

    it('makes no session if it is refused', async () => {
      await answer('s', '1');
      await answer('s', 'ann', { owner: 'ann' });
      await answer('other', '1', { owner: 'ann' });
      const full = { ...forking('f', 's', 1), mayStart: false, maxWaiting: 0 };
      expect(await codeOf(() => admitTo('f', full))).toBe('at_capacity');
      expect(await codeOf(() => admitTo('f', forking('f', 's', 2)))).toBe('invalid_query');
      for (const id of ['none', 'other'])
        expect(await codeOf(() => admitTo('f', forking('f', id, 0)))).toBe('not_found');
      const { sessions } = await store.sessions(OWNER, { after: undefined, limit: 9 });
      expect(ids(sessions)).toEqual(['s']);
    });
  });

  describe('a fork', () => {
    it('of nothing is an empty session', async () => {
      const made = await fork(undefined, 0, 'new');
      expect(made).toMatchObject({ id: 'new', title: undefined, turns: 0 });
      const { sessions } = await store.sessions(OWNER, { after: undefined, limit: 9 });
      expect(sessions).toEqual([{ ...made, active: undefined, asking: undefined }]);
      expect(await codeOf(() => fork(undefined, 0, 'new'))).toBe('session_exists');
      expect(await codeOf(() => fork(undefined, 1, 'other'))).toBe('invalid_query');
      await answer('new', '1');
      expect(await textsOf('new')).toEqual(['1']);
      expect(await store.erase(OWNER, 'new')).toBe(true);
      expect(await textsOf('new')).toBeUndefined();
    });

    it('begins with the first turns of a session, and goes its own way from there', async () => {
      for (const text of ['1', '2', '3']) await answer('s', text);
      const made = await fork('s', 2, 'f');
      expect(made).toMatchObject({ id: 'f', title: 'Hello', turns: 2 });
      const { sessions } = await store.sessions(OWNER, { after: undefined, limit: 1 });
      expect(sessions).toEqual([{ ...made, active: undefined, asking: undefined }]);
      await answer('f', 'f3');
      await answer('s', '4');
      expect([await textsOf('s'), await textsOf('f')]).toEqual([
        ['1', '2', '3', '4'],
        ['1', '2', 'f3'],
      ]);
      const whole = (id: string) => store.turns(OWNER, id, { after: 0, limit: 2 });
      expect((await whole('f'))!.turns).toEqual((await whole('s'))!.turns);
      expect(await fork('s', 0, 'empty')).toMatchObject({ title: undefined, turns: 0 });
      expect(await textsOf('empty')).toEqual([]);
    });

    it('has only turns of runs that have ended', async () => {
      await answer('s', '1');
      const { run } = await admitTo('s');
      await fork('s', 1, 'f');
      expect(await codeOf(() => fork('s', 2, 'g'))).toBe('invalid_query');
      await finish(run, COMPLETED, '2');
      expect([await textsOf('s'), await textsOf('f')]).toEqual([['1', '2'], ['1']]);
      expect(await store.queue(OWNER, 'f')).toEqual([]);
    });

    it('is refused if its id is taken, and if the session has fewer turns', async () => {
      await answer('s', '1');
      await admitTo('busy');
      for (const id of ['s', 'busy']) expect(await codeOf(() => fork('s', 1, id))).toBe('session_exists');
      expect(await refusalOf(() => fork('s', 2, 'f'))).toMatchObject({
        code: 'invalid_query',
        errors: [{ pointer: '/afterTurn' }],
      });
      expect(await textsOf('f')).toBeUndefined();
    });

    it('is not made of what the owner does not have', async () => {
      await answer('s', 'ann', { owner: 'ann' });
      expect(await fork('s', 0, 'f', 'bob')).toBeUndefined();
      expect(await fork('s', 0, 's', 'bob')).toBeUndefined();
      expect(await textsOf('f', 'bob')).toBeUndefined();
      await answer('f', 'bob', { owner: 'bob' });
      expect(await fork('s', 1, 'f', 'ann')).toMatchObject({ turns: 1 });
      expect([await textsOf('f', 'ann'), await textsOf('f', 'bob')]).toEqual([['ann'], ['bob']]);
    });

    it('keeps its turns when an admission to it is refused', async () => {
      await answer('s', '1');
      await fork('s', 1, 'f');
      const full = { mayStart: false, maxWaiting: 0 };
      expect(await codeOf(() => admitTo('f', full))).toBe('at_capacity');
      expect(await textsOf('f')).toEqual(['1']);
    });
  });
}
