import type { SessionPage, Turn as KeptTurn } from 'nest-agent-query-client';
import type { Calls } from './calls.js';
import * as questions from './questions.js';
import { questionOf, Turn } from './turn.js';
import type { TurnList } from './turn-list.js';

/** How many turns are loaded at a time. */
const PAGE = 30;

/** The turns of a session as the service keeps them: loads them into a list. */
export class TurnPages {
  /** How many turns before the first one are not loaded. */
  earlier = 0;
  #after = 0;

  constructor(
    private readonly session: string,
    private readonly calls: Calls,
    private readonly list: TurnList,
  ) {}

  /** Leaves out all but the newest turns. @param count how many turns the session has */
  begin(count: number): void {
    this.earlier = Math.max(0, count - PAGE);
    this.#after = this.earlier;
  }

  /** Loads the turns that are new. A page ends at a size, so that there may be several. @returns the last page */
  async loadNew(): Promise<SessionPage> {
    for (let at = 0; ;) {
      const page = await this.calls.client.session(this.session, { after: this.#after, limit: 500 });
      for (const kept of page.turns) {
        at = this.list.place(at, kept.runId, () => shown(kept));
        const turn = this.list.of(kept.runId)!;
        if (turn.lacksQuestion) turn.learn(questionOf(kept));
      }
      if (page.next === null) return page;
      this.#after = page.next;
    }
  }

  async loadEarlier(): Promise<void> {
    const after = Math.max(0, this.earlier - PAGE);
    const limit = this.earlier - after;
    const page = await this.calls.during(() => this.calls.client.session(this.session, { after, limit }));
    this.list.addBefore(page.turns.map(shown));
    this.earlier = after;
  }
}

function shown(kept: KeptTurn): Turn {
  return Turn.of(kept, questions.recallKwargs(kept.runId));
}
