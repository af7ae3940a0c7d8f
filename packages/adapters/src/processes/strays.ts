import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { MARKER } from './environment.js';
import { processesWith } from './system.js';

/** Milliseconds that the system may take to end processes that were killed. */
const KILL_MS = 500;
const PAUSE_MS = 5;

/**
 * Kills the processes that carry the marker, in any group, and waits until they are gone, for 500 ms at most. Does nothing on systems
 * without `/proc`.
 */
export async function endStrays(marker: string): Promise<void> {
  const deadline = performance.now() + KILL_MS;
  const variable = `${MARKER}=${marker}`;
  // They may have started others meanwhile.
  for (let pids = await processesWith(variable); pids.length > 0; pids = await processesWith(variable)) {
    pids.forEach(kill);
    if (performance.now() > deadline) return;
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
