import { type Envelope, log, type QueryContext, type Turn as SessionTurn } from 'nest-agent-query';
import type { Agent } from './agent.js';
import type { Workplace } from './workplace.js';

/** How the agent's session was opened. */
export interface Opening {
  /** The turns of the session that the agent does not remember. */
  missing: readonly SessionTurn[];
  /** Whether the agent remembers the session. */
  isKnown: boolean;
  /** What callers are told. */
  notes: Envelope[];
}

const TAKEN_OVER =
  'The agent has not kept this conversation: it begins anew, and is given the earlier turns as a text.';
const LOST = 'The agent has not kept what it had done for this query: it begins anew.';

/** Opens the agent's session of a conversation: its own one, or a new one that is told the history. */
export class SessionOpening {
  constructor(
    private readonly context: QueryContext,
    private readonly workplace: Workplace,
  ) {}

  /**
   * @param lostSession the agent's session of an earlier attempt of this run
   * @throws what `Agent.begin` throws
   */
  async open(agent: Agent, lostSession: string | undefined): Promise<Opening> {
    const { history, signal } = this.context;
    const { cwd } = this.workplace;
    const known = lostSession === undefined ? await this.remembered() : { id: lostSession, missing: [] };
    if (known && (await agent.reopen(known.id, cwd, signal)))
      return { missing: known.missing, isKnown: true, notes: [] };
    await agent.begin(cwd, signal);
    const note = history.length > 0 ? TAKEN_OVER : lostSession === undefined ? undefined : LOST;
    return { missing: history, isKnown: false, notes: note === undefined ? [] : [log(note)] };
  }

  /**
   * The agent's session of this conversation, and the turns that it has not seen. Undefined if there is none, or if it has seen a turn
   * that the conversation does not have any more.
   */
  async remembered(): Promise<{ id: string; run: string; missing: readonly SessionTurn[] } | undefined> {
    const record = await this.workplace.record();
    if (!record) return undefined;
    const { history } = this.context;
    const last = history.findLastIndex(({ runId }) => runId === record.run);
    if (last < 0) return undefined;
    return { id: record.agentSession, run: record.run, missing: history.slice(last + 1) };
  }
}
