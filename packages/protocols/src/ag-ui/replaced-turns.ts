import type { AgentService, RunView } from 'nest-agent-query';
import type { InputMessage } from './run-input.js';

/** How many turns are looked at with one call. */
const PAGE = 100;

/** The id of a message or a call of ours begins with that of its run. */
const OWN_ID = /^([\w-]{1,100})\.\d{1,15}$/;

/** The thread of a client, whose history may be shorter than that of the session. */
export class Turns {
  constructor(
    private readonly agent: AgentService,
    private readonly owner: string,
    private readonly session: string,
  ) {}

  /** How many turns are before that of a run, which is cancelled if it has not ended: its question is asked again. */
  async before(run: RunView): Promise<number | undefined> {
    if (run.endedAt === null) await this.agent.cancel(this.owner, run.id);
    return this.#upTo(run.id, 0);
  }

  /**
   * How many turns a history has, if its last answer is one of ours and not that of the newest turn: the client has cut off what
   * follows. Undefined if nothing is cut off, or a run of the session has not ended.
   *
   * @param history the messages before that of the query
   */
  async keptOf(history: readonly InputMessage[]): Promise<number | undefined> {
    const last = lastRunOf(history);
    if (last === undefined) return undefined;
    const { runs } = await this.agent.runs(this.owner, { session: this.session, limit: 1 });
    const [newest] = runs;
    if (!newest || newest.id === last || newest.endedAt === null) return undefined;
    return this.#upTo(last, 1);
  }

  /** The number of the turns up to that of a run. Undefined if there is none, or no turn follows those. */
  async #upTo(runId: string, more: 0 | 1): Promise<number | undefined> {
    for (let after: number | null = 0; after !== null;) {
      const page = await this.#page(after, PAGE);
      const found = page.turns.findIndex((turn) => turn.runId === runId);
      const count = found + more;
      // Pages tell the number of their last turn only.
      if (found >= 0) return count === 0 ? after : ((await this.#page(after, count)).next ?? undefined);
      after = page.next;
    }
    return undefined;
  }

  #page(after: number, limit: number) {
    return this.agent.session(this.owner, this.session, after, limit);
  }
}

/** The run of the answer before the query; undefined if another message of the user follows it. */
function lastRunOf(history: readonly InputMessage[]): string | undefined {
  for (const { role, id } of history.toReversed()) {
    if (role === 'user') return undefined;
    const [, runId] = (typeof id === 'string' && OWN_ID.exec(id)) || [];
    if (runId !== undefined) return runId;
  }
  return undefined;
}
