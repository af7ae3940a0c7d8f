import type { AgentService, RunView } from 'nest-agent-query';
import { type ChatRequest, isOfAgent, refused } from './chat-request.js';
import { runIdOf } from './message-id.js';

/** How many turns are looked at together. */
const PAGE_TURNS = 500;

const UNKNOWN = 'no turn of the chat any more: load the chat again';

/**
 * How many turns of a chat are kept when a message is edited or regenerated: those before the message that the client names, or else
 * those up to the last message of the agent that it has kept.
 *
 * @throws {QueryError} `invalid_query`: the chat has no turn of that message · `not_found`: there is no such chat
 */
export async function turnsBefore(
  agent: AgentService,
  owner: string,
  { chatId, messageId, messages }: ChatRequest,
): Promise<number> {
  const named = runIdOf(messageId);
  const number = named === undefined ? undefined : await turnNumber(agent, owner, chatId!, named);
  if (number !== undefined) return number - 1;
  const index = messages.findLastIndex((each) => isOfAgent(each) && runIdOf(each.id) !== undefined);
  if (index < 0 && (named === undefined || (await newestActive(agent, owner, chatId!)))) return 0;
  if (index < 0) throw refused('/messageId', `names ${UNKNOWN}`);
  const lastKept = await turnNumber(agent, owner, chatId!, runIdOf(messages[index]!.id)!);
  if (lastKept !== undefined) return lastKept;
  throw refused(`/messages/${index}/id`, `names ${UNKNOWN}`);
}

/** The newest run of a chat that has neither ended nor asks; undefined if there is none. */
export function newestActive(
  agent: AgentService,
  owner: string,
  chatId: string,
): Promise<RunView | undefined> {
  return newest(agent, owner, chatId, ({ status }) => status === 'running' || status === 'waiting');
}

/** The newest run of a chat that has ended; undefined if there is none. */
export function newestEnded(
  agent: AgentService,
  owner: string,
  chatId: string,
): Promise<RunView | undefined> {
  return newest(agent, owner, chatId, ({ endedAt }) => endedAt !== null);
}

async function newest(
  agent: AgentService,
  owner: string,
  session: string,
  isWanted: (run: RunView) => boolean,
): Promise<RunView | undefined> {
  return (await agent.runs(owner, { session })).runs.find(isWanted);
}

/** The number of a turn, from 1; undefined if the session has no such turn. */
async function turnNumber(
  agent: AgentService,
  owner: string,
  sessionId: string,
  runId: string,
): Promise<number | undefined> {
  // The oldest turns may be dropped. The first page says which number its turn has.
  for (let after = 0, limit = 1; ; limit = PAGE_TURNS) {
    const { turns, next } = await agent.session(owner, sessionId, after, limit);
    const first = next === null ? after + 1 : next - turns.length + 1;
    const index = turns.findIndex((turn) => turn.runId === runId);
    if (index >= 0) return first + index;
    if (next === null) return undefined;
    after = next;
  }
}
