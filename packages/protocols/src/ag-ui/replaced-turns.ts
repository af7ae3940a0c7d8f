import type { AgentService, RunView } from 'nest-agent-query';
import { turnOfRun } from '../view/turn-of-run.js';
import type { InputMessage } from './run-input.js';

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
    const found = await turnOfRun(this.agent, this.owner, this.session, run.id);
    return found && found.number - 1;
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
    return (await turnOfRun(this.agent, this.owner, this.session, last))?.number;
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
