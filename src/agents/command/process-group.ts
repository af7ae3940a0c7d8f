import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';

/** Milliseconds between the first two looks at a group. The time doubles with each look, because a look may be costly. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;

/**
 * So many processes are looked at before others have their turn. All at the same time would need as many open files; and each of
 * them costs a third of what it costs when it is not read at once.
 */
const AT_ONCE = 50;

/** The groups that may have processes. */
const living = new Set<ProcessGroup>();

/** A terminal does not reach the groups, so they would outlive a service that exits before its runs have ended. */
function killLiving(): void {
  for (const group of living) group.signal('SIGKILL');
}

/**
 * A program and the processes that it has started, unless they have left its group. It is killed when this process exits. Who has
 * made it calls `forget` when the group is gone.
 *
 * @example
 * const group = new ProcessGroup(spawn('make', { detached: true }).pid!);
 * group.signal('SIGTERM');
 * if (!(await group.goneWithin(5_000))) group.signal('SIGKILL');
 * group.forget();
 */
export class ProcessGroup {
  /** @param id the id of the process that leads the group */
  constructor(private readonly id: number) {
    if (living.size === 0) process.on('exit', killLiving);
    living.add(this);
  }

  /** Sends a signal to all processes of the group. Does nothing if there are none. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    try {
      process.kill(-this.id, name);
    } catch {
      // There is no such group any more. Or a process runs as another user, whom this one may not send signals.
    }
  }

  /** Waits until no process of the group executes any more. Returns whether that is so. */
  async goneWithin(milliseconds: number): Promise<boolean> {
    const deadline = performance.now() + milliseconds;
    for (let pause = FIRST_PAUSE_MS; await this.#executes(); pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const left = deadline - performance.now();
      if (left <= 0) return false;
      await new Promise((resolve) => setTimeout(resolve, Math.min(pause, left)));
    }
    return true;
  }

  async #executes(): Promise<boolean> {
    try {
      process.kill(-this.id, 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    }
    return hasLivingMembers(this.id);
  }

  /** The id may stand for another group from now on. */
  forget(): void {
    living.delete(this);
    if (living.size === 0) process.off('exit', killLiving);
  }
}

/**
 * Whether a group that exists has a process that has not ended. One that has ended stays in the group until its parent, or for
 * an orphan the first process of the system, has asked about it, which may take long. Always true on systems without `/proc`.
 */
async function hasLivingMembers(group: number): Promise<boolean> {
  // Its leader is nearly always among them, and a look at all processes of a system costs far more.
  if (isLivingMember(`${group}`, group)) return true;
  const names = await readdir('/proc').catch(() => undefined);
  if (!names) return true;
  for (const [index, pid] of names.filter((name) => /^\d+$/.test(name)).entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
    if (isLivingMember(pid, group)) return true;
  }
  return false;
}

/** Whether a process is in a group, and has not ended. */
function isLivingMember(pid: string, group: number): boolean {
  const stat = statOf(pid);
  // proc(5): the second field is the name of the program, which may contain anything; then its state, parent and group.
  const [state = '', , member] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(member) === group && !/[ZX]/.test(state);
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return '';
  }
}
