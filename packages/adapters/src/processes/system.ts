import { readFileSync, readlinkSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** So many processes are looked at at the same time: all of them would need as many open files. */
const AT_ONCE = 50;

/**
 * When a process started, in clock ticks since the start of the system (proc(5), field 22 of `stat`): ids are used again, but never an
 * id and a start together. Undefined if it has ended, and on systems without `/proc`.
 */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the name of the program, which may contain anything. The state is the field after it.
    const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A process that has ended is there until its parent has asked about it.
    return /[ZX]/.test(state) ? undefined : fields[18];
  } catch {
    return undefined;
  }
}

/**
 * Names the processes that can be seen here: those of one container, since one start of the system. Undefined on systems without
 * `/proc`.
 */
export function processSpace(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

/** The ids of the processes that have this variable (`NAME=value`) in their environment. None on systems without `/proc`. */
export async function processesWith(variable: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name));
  const found: number[] = [];
  while (pids.length > 0) {
    const some = pids.splice(0, AT_ONCE);
    const environments = await Promise.all(some.map(environmentOf));
    found.push(...some.filter((_, index) => environments[index]!.includes(variable)).map(Number));
  }
  return found;
}

/** Not read at once, which is quicker: a process whose memory is locked lets its reader wait. */
async function environmentOf(pid: string): Promise<string[]> {
  try {
    return (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  } catch {
    // Those of other users cannot be read, and those that have ended are not there.
    return [];
  }
}
