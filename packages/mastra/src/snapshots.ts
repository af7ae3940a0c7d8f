import { cannotAsk, stateLost } from './failures.js';
import type { MastraAgent } from './mastra-options.js';

/** The framework's name of the workflow that an agent is. */
const WORKFLOW = 'agentic-loop';

interface Snapshots {
  loadWorkflowSnapshot(run: { workflowName: string; runId: string }): Promise<Snapshot | null | undefined>;
}

interface Snapshot {
  resumeLabels?: Record<string, unknown>;
}

/** Version 0.24 has the methods of all stores in one. */
interface Storage extends Partial<Snapshots> {
  getStore?(name: string): Promise<Snapshots | undefined>;
}

/**
 * The ids of the calls with which a run of the framework can go on.
 *
 * @throws {QueryError} `handler_failed`: the agent has no storage · `interrupted`: the storage does not keep the run
 */
export async function waitingCalls(agent: MastraAgent, runId: string): Promise<Set<string>> {
  const storage = agent.getMastraInstance?.()?.getStorage?.() as Storage | undefined;
  const snapshots = storage?.loadWorkflowSnapshot
    ? (storage as Snapshots)
    : await storage?.getStore?.('workflows');
  if (!snapshots) throw cannotAsk();
  const snapshot = await snapshots.loadWorkflowSnapshot({ workflowName: WORKFLOW, runId });
  if (!snapshot) throw stateLost();
  return new Set(Object.keys(snapshot.resumeLabels ?? {}));
}
