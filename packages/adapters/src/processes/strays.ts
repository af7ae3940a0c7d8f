import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { MARKER } from './environment.js';
import { processesWith, startOf } from './system.js';

/** Milliseconds that the system may take to end processes that were killed. */
const KILL_MS = 2_000;
const PAUSE_MS = 5;

/**
 * Kills the processes that carry the marker, in any group, and waits until they are gone, for 2 s at most. Does nothing on systems
 * without `/proc`.
 */
export async function endStrays(marker: string): Promise<void> {
  const deadline = performance.now() + KILL_MS;
  /** When those started that were killed: a process that ends loses its environment first, and has open files for a while. */
  const killed = new Map<number, string>();
  // They may have started others meanwhile.
  for (;;) {
    const pids = await processesWith(`${MARKER}=${marker}`);
    for (const pid of pids) {
      const start = startOf(pid);
      if (start !== undefined) killed.set(pid, start);
      kill(pid);
    }
    for (const [pid, start] of killed) if (startOf(pid) !== start) killed.delete(pid);
    if ((pids.length === 0 && killed.size === 0) || performance.now() > deadline) return;
    await wait(PAUSE_MS);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
