import { type AgentService, QueryError, type RunView, type Turn } from 'nest-agent-query';

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

/** The parts of the query of a run, files without their contents; undefined if they are not kept. */
export async function partsOfRun(
  agent: AgentService,
  owner: string,
  { id, session, endedAt }: RunView,
): Promise<Turn['parts'] | undefined> {
  const unfinished = endedAt === null ? await orUndefined(agent.parts(owner, id)) : undefined;
  if (unfinished || session === null) return unfinished;
  return (await orUndefined(turnOfRun(agent, owner, session, id)))?.turn.parts;
}

/** What is found, unless it is gone by now. */
async function orUndefined<T>(finding: Promise<T>): Promise<T | undefined> {
  try {
    return await finding;
  } catch (error) {
    if (error instanceof QueryError && error.code === 'not_found') return undefined;
    throw error;
  }
}
