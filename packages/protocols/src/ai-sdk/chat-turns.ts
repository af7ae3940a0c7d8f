import type { AgentService, RunView } from 'nest-agent-query';
import { type ChatRequest, isOfAgent, refused } from './chat-request.js';
import { runIdOf, turnIdOf } from './message-id.js';

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
  const asked = turnIdOf(messageId);
  const replaced = asked === undefined ? undefined : await agent.turn(owner, chatId!, asked);
  if (replaced) return replaced.number - 1;
  const index = messages.findLastIndex((each) => isOfAgent(each) && runIdOf(each.id) !== undefined);
  if (index < 0 && (named === undefined || (await newestUnfinished(agent, owner, chatId!)))) return 0;
  if (index < 0) throw refused('/messageId', `names ${UNKNOWN}`);
  const lastKept = await agent.turn(owner, chatId!, runIdOf(messages[index]!.id)!);
  if (lastKept) return lastKept.number;
  throw refused(`/messages/${index}/id`, `names ${UNKNOWN}`);
}

/** The newest run of a chat that has not ended; undefined if there is none. */
export function newestUnfinished(
  agent: AgentService,
  owner: string,
  chatId: string,
): Promise<RunView | undefined> {
  return newest(agent, owner, chatId, ({ endedAt }) => endedAt === null);
}

/** The newest run of a chat, if a loaded message of the user became it; undefined otherwise. */
export async function runAnswering(
  agent: AgentService,
  owner: string,
  session: string,
  messageId: string | undefined,
): Promise<RunView | undefined> {
  if (messageId === undefined || runIdOf(messageId) !== undefined) return undefined;
  const newest = await newestOf(agent, owner, session);
  return newest?.id === turnIdOf(messageId) ? newest : undefined;
}

/** The newest run of a chat; undefined if it has none. */
export async function newestOf(
  agent: AgentService,
  owner: string,
  session: string,
): Promise<RunView | undefined> {
  return (await agent.runs(owner, { session, limit: 1 })).runs[0];
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
