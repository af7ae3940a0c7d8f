import type { Turn } from './turn.js';

/** The turns of a session, in the order of the service. */
export class TurnList {
  all: Turn[] = [];

  /** The run that executes, or is the next to be executed. */
  get live(): Turn | undefined {
    return this.all.find(({ isLive }) => isLive);
  }

  /** Whether the service may have a query of which this window does not know the run. */
  get isSending(): boolean {
    return this.all.some(({ status }) => status === 'sending');
  }

  of(runId: string): Turn | undefined {
    return this.all.find((turn) => turn.runId === runId);
  }

  /** Where the runs begin that have not ended. */
  get firstUnfinished(): number {
    return this.all.findLastIndex(({ runId, isLive }) => runId !== undefined && !isLive) + 1;
  }

  /**
   * Puts a turn where it is in the service, unless it is here.
   *
   * @param at where the turn before it ends
   * @returns where the next one begins
   */
  place(at: number, runId: string, make: () => Turn): number {
    const known = this.all.findIndex((turn) => turn.runId === runId);
    if (known >= 0) return known + 1;
    this.all = this.all.toSpliced(at, 0, make());
    return at + 1;
  }

  add(turn: Turn): void {
    this.all = [...this.all, turn];
  }

  addBefore(turns: Turn[]): void {
    this.all = [...turns.filter(({ runId }) => !this.of(runId!)), ...this.all];
  }
}
