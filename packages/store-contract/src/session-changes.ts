import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Admission, TurnFile } from 'nest-agent-query';
import {
  admit,
  admitTo,
  casesOf,
  CANCELLED,
  codeOf,
  COMPLETED,
  DONE,
  finish,
  ids,
  inSession,
  isWith,
  keptAnswer,
  logOf,
  refusalOf,
  reopen,
  restart,
  store,
  sweep,
  take,
} from './opened-store.js';
import { describe, expect, it } from './runner.js';

const OWNER = 'anonymous';
/** Longer than what pages show of a text. */
const LONG = 'x'.repeat(70_000);

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const replacing = (id: string, afterTurn: number) => ({ session: { ...inSession(id), afterTurn } });
const textsOf = async (id: string, owner = OWNER) =>
  (await store.turns(owner, id, { after: 0, limit: 99 }))?.turns.map(({ text }) => text);
const following = (id: string, afterRun: string) => ({ session: { ...inSession(id), afterRun } });
const fork = async (sessionId: string | undefined, afterTurn: number, newId: string, owner = OWNER) =>
  store.fork(owner, { sessionId, afterTurn, newId });

/** Asks in a session, and ends the run with a text. */
async function answer(id: string, text: string, admission: Partial<Admission> = {}) {
  return (await answerIn(id, text, admission)).run;
}

async function answerIn(id: string, text: string, admission: Partial<Admission>) {
  const admitted = await admitTo(id, admission);
  await finish(admitted.run, COMPLETED, text);
  return admitted;
}

/** Turns that are replaced, and forks of sessions. */
export function describeSessionChanges(): void {
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

  it('reads every session of a tree as its own history, and keeps parts until the last session is gone', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.record({ what: fc.constantFrom(...STEPS), name, after: fc.nat(3), other: name });
    const steps = fc.array(step, { minLength: 8, maxLength: 16, size: 'max' });
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (all, restarts) => {
        // A run that failed leaves its sessions.
        await reopen();
        const tree = new Tree();
        for (const { what, name, after, other } of all) {
          if (what === 'ask') await tree.ask(name);
          else if (what === 'replace') await tree.ask(name, after);
          else if (what === 'fork') await tree.fork(name, after, other);
          else await tree.erase(name);
        }
        if (restarts && isWith('durable')) await restart();
        await tree.check();
        for (const each of tree.names) await tree.erase(each);
        await sweep();
        await tree.check();
      }),
      { numRuns: casesOf(3) },
    );
  });
}

const STEPS = ['ask', 'ask', 'ask', 'replace', 'fork', 'fork', 'erase'] as const;

interface ModelTurn {
  runId: string;
  text: string;
  file: TurnFile;
}

/** What the sessions are to have. */
class Tree {
  readonly #sessions = new Map<string, ModelTurn[]>();
  readonly #all: ModelTurn[] = [];

  async ask(name: string, afterTurn?: number): Promise<void> {
    const turns = this.#sessions.get(name) ?? [];
    const text = `${this.#all.length} ${LONG}`;
    // Few contents, so that turns of several sessions have the same.
    const content = `content ${this.#all.length % 3}`;
    const file: TurnFile = {
      ...{ type: 'file', name: 'a.txt', mimeType: 'text/plain' },
      ...{ size: content.length, sha256: digestOf(content) },
    };
    const replaces = afterTurn === undefined ? {} : replacing(name, afterTurn);
    const runId = `tree-${this.#all.length}-${Math.random().toString(36).slice(2)}`;
    await store.files?.keep(runId, file.sha256, new Blob([content]));
    const admitted = admitTo(name, { runId, parts: [{ type: 'text', text }, file], ...replaces });
    if (afterTurn !== undefined && afterTurn > turns.length) {
      expect(await codeOf(() => admitted)).toBe('invalid_query');
      return store.files?.release(runId);
    }
    const turn = { runId, text, file };
    this.#all.push(turn);
    this.#sessions.set(name, [...turns.slice(0, afterTurn), turn]);
    await store.end((await admitted).run, COMPLETED, keptAnswer(text));
  }

  async fork(name: string, afterTurn: number, newId: string): Promise<void> {
    const turns = this.#sessions.get(name);
    const made = await codeOf(() => fork(name, afterTurn, newId));
    if (!turns) return expect(made).toBe('none');
    if (this.#sessions.has(newId)) return expect(made).toBe('session_exists');
    expect(made).toBe(afterTurn > turns.length ? 'invalid_query' : 'none');
    if (afterTurn <= turns.length) this.#sessions.set(newId, turns.slice(0, afterTurn));
  }

  async erase(name: string): Promise<void> {
    expect(await store.erase(OWNER, name)).toBe(this.#sessions.delete(name));
  }

  /** The sessions that exist. */
  get names(): string[] {
    return [...this.#sessions.keys()];
  }

  async check(): Promise<void> {
    const { sessions } = await store.sessions(OWNER, { after: undefined, limit: 99 });
    expect(ids(sessions).sort()).toEqual(this.names.sort());
    for (const [name, turns] of this.#sessions) {
      const page = await store.turns(OWNER, name, { after: 0, limit: 99 });
      const shown = page!.turns.map(({ runId, text, parts }) => ({ runId, text, file: parts[1] }));
      expect(shown).toEqual(turns);
      for (const turn of this.#all) {
        const found = await store.turn(OWNER, name, turn.runId);
        expect(found?.number).toBe(turns.indexOf(turn) + 1 || undefined);
      }
    }
    const kept = new Set([...this.#sessions.values()].flat());
    for (const turn of this.#all) {
      const isKept = kept.has(turn);
      const [file, text] = [turn.file.sha256, digestOf(turn.text)];
      expect(await store.part(OWNER, turn.runId, file)).toEqual(isKept ? turn.file : undefined);
      expect(await store.part(OWNER, turn.runId, text)).toEqual(
        isKept ? { type: 'text', text: turn.text } : undefined,
      );
      expect((await store.files?.read(turn.runId, file)) !== undefined).toBe(
        isKept && store.files !== undefined,
      );
    }
  }
}
