import process from 'node:process';

/** Milliseconds between two looks at a group. */
const LOOK_MS = 10;

/** The groups that may have processes. */
const living = new Set<ProcessGroup>();

/** A terminal does not reach the groups, so they would outlive a service that exits before its runs have ended. */
function killLiving(): void {
  for (const group of living) group.signal('SIGKILL');
}

/** A program and the processes that it has started, unless they have left its group. It is killed when this process exits. */
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

  /** Whether no process of the group is left. One that has ended, but that nobody has asked about, is. */
  get isGone(): boolean {
    try {
      process.kill(-this.id, 0);
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ESRCH';
    }
  }

  /** Waits until no process of the group is left. Returns whether that is so. */
  async goneWithin(milliseconds: number): Promise<boolean> {
    const deadline = performance.now() + milliseconds;
    while (!this.isGone) {
      if (performance.now() >= deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return true;
  }

  /** The id may stand for another group from now on. */
  forget(): void {
    living.delete(this);
    if (living.size === 0) process.off('exit', killLiving);
  }
}
