import type { ProcessGroup } from 'nest-agent-query/agents/command';
import { endStrays } from './strays.js';

/** Milliseconds that the system may take to end the processes of a group that was killed. */
const KILL_MS = 500;

/**
 * Ends an agent and what it has started: SIGTERM to its group, SIGKILL, and then to all that has left the group. Resolves when all is
 * gone, or cannot be ended by this user. Never rejects.
 *
 * @param marker the value of `MARKER` in its environment
 * @param termMs milliseconds that it has between the two signals; 0: it is killed at once
 *
 * @example
 * await endProcesses(group, marker, 1_000);
 * group.forget();
 */
export async function endProcesses(group: ProcessGroup, marker: string, termMs: number): Promise<void> {
  if (termMs > 0) group.signal('SIGTERM');
  if (!(await group.goneWithin(termMs))) {
    group.signal('SIGKILL');
    await group.goneWithin(KILL_MS);
  }
  await endStrays(marker);
}
