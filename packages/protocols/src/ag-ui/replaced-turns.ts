import type { AgentService } from 'nest-agent-query';
import type { InputMessage } from './run-input.js';

/** The id of a message or a call of ours begins with that of its run. */
const OWN_ID = /^([\w-]{1,100})\.\d{1,15}$/;

/**
 * How many turns the history of a client has, which may be shorter than that of its session: if its last answer is one of ours and not
 * that of the newest turn, the client has cut off what follows. Undefined if nothing is cut off, or a run of the session has not
 * ended.
 *
 * @param history the messages before that of the query
 */
export async function turnsOf(
  history: readonly InputMessage[],
  agent: AgentService,
  owner: string,
  session: string,
): Promise<number | undefined> {
  const last = lastRunOf(history);
  if (last === undefined) return undefined;
  const { runs } = await agent.runs(owner, { session, limit: 1 });
  const [newest] = runs;
  if (!newest || newest.id === last || newest.endedAt === null) return undefined;
  return (await agent.turn(owner, session, last))?.number;
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
