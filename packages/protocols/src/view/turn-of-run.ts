import type { AgentService, Turn } from 'nest-agent-query';

/** How many turns are looked at together. */
const PAGE = 500;

/**
 * Finds the turn of a run in its session, with the number of the turn, from 1. Undefined if the session does not have it.
 *
 * @throws {QueryError} `not_found`: the owner has no such session
 */
export async function turnOfRun(
  agent: AgentService,
  owner: string,
  session: string,
  runId: string,
): Promise<{ turn: Turn; number: number } | undefined> {
  // The oldest turns may be dropped. The first page says which number its turn has.
  for (let after = 0, limit = 1; ; limit = PAGE) {
    const { turns, next } = await agent.session(owner, session, after, limit);
    const first = next === null ? after + 1 : next - turns.length + 1;
    const index = turns.findIndex((turn) => turn.runId === runId);
    if (index >= 0) return { turn: turns[index]!, number: first + index };
    if (next === null) return undefined;
    after = next;
  }
}
