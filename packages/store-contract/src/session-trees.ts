import fc from 'fast-check';
import type { TurnFile } from 'nest-agent-query';
import {
  admitTo,
  casesOf,
  codeOf,
  COMPLETED,
  ids,
  isWith,
  keptAnswer,
  reopen,
  restart,
  store,
  sweep,
} from './opened-store.js';
import { digestOf, fork, LONG, OWNER, replacing } from './replaced-turns.js';
import { expect, it } from './runner.js';

/** Sessions that were made of one another. */
export function describeSessionTrees(): void {
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
