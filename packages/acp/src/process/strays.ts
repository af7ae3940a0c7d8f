import { readdir, readFile } from 'node:fs/promises';
import process from 'node:process';
import { MARKER } from './environment.js';

/** So often it is looked whether a process has started another one meanwhile. */
const LOOKS = 5;

/** Kills the processes that carry the marker, in any group. Does nothing on systems without `/proc`. */
export async function endStrays(marker: string): Promise<void> {
  const variable = `${MARKER}=${marker}`;
  for (let look = 0; look < LOOKS; look++) {
    const pids = await pidsWith(variable);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  }
}

async function pidsWith(variable: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const carry = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
      return environment.split('\0').includes(variable);
    }),
  );
  return pids.filter((_, index) => carry[index]);
}
