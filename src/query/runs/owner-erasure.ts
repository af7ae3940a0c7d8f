import { QueryError } from '../contract/errors.js';
import type { ListPosition, RunStore } from '../ports/run-store.js';

/** How many runs of an owner are erased at the same time. */
const AT_ONCE = 50;

/** How much of an owner was erased. */
export interface ErasedOwner {
  /** Runs, those of sessions included. */
  runs: number;
  sessions: number;
  /** Files that were sent before a query. */
  uploads: number;
  /** Of how many days and models usage was erased. */
  usage: number;
}

/** What `AgentService` erases in one step. */
interface Eraser {
  erase(owner: string, sessionId: string): Promise<void>;
  eraseRun(owner: string, runId: string): Promise<void>;
}

/**
 * Erases an owner step by step; see `AgentService.eraseOwner`.
 *
 * @param stored the owner as the store has it
 */
export async function eraseOwner(
  agent: Eraser,
  store: RunStore,
  owner: string,
  stored: string,
): Promise<ErasedOwner> {
  const erased = { runs: 0, sessions: 0, uploads: 0, usage: 0 };
  let after: ListPosition | undefined;
  do {
    const { runs, next } = await store.runs(stored, { after, limit: AT_ONCE });
    const alone = runs.filter(({ sessionId }) => sessionId === undefined);
    await Promise.all(alone.map(({ id }) => agent.eraseRun(owner, id).catch(ignoreMissing)));
    erased.runs += runs.length;
    after = next;
  } while (after);
  do {
    const { sessions, next } = await store.sessions(stored, { after, limit: AT_ONCE });
    for (const { id } of sessions) await agent.erase(owner, id).catch(ignoreMissing);
    erased.sessions += sessions.length;
    after = next;
  } while (after);
  erased.uploads = (await store.uploads?.erase(stored)) ?? 0;
  erased.usage = (await store.usage?.erase(stored)) ?? 0;
  return erased;
}

/** Somebody else has erased it. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof QueryError && error.code === 'not_found')) throw error;
}
