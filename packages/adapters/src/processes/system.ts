import { readFileSync, readlinkSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';

/**
 * So many processes are looked at before others have their turn. All at the same time would need as many open files; and each of
 * them costs a third of what it costs when it is not read at once.
 */
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
  const found: number[] = [];
  for (const [index, name] of names.filter((each) => /^\d+$/.test(each)).entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
    if (environmentOf(name).includes(variable)) found.push(Number(name));
  }
  return found;
}

function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    // Those of other users cannot be read, and those that have ended are not there.
    return [];
  }
}
