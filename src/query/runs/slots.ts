import { type Awaitable, isThenable } from '../ports/file-store.js';
import type { DispatchReceiver } from '../ports/other-processes.js';

/** The most runs that are taken in one step. A limit, because slots are kept for them until the store has answered. */
const TAKEN_AT_ONCE = 64;

/** A slot that is held: for a run that is being admitted or that executes, or for an overdue handler. */
export class Slot {
  #isReleased = false;

  constructor(private readonly onRelease: () => void) {}

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Frees the slot. Does nothing if it is free already. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.onRelease();
  }
}

/**
 * The slots of this process: as many runs execute at the same time at most.
 *
 * Invariant, whenever no method of this class executes:
 *
 * - `#held` is the number of `Slot`s that are not released, and of runs that the store was asked for and has not returned yet
 *   (`#taking`). The other slots are free. More are held than there are only after `hold`: then none is free.
 * - The store is asked once at a time, for no more runs than there were free slots that no admission waited for.
 * - While runs may wait in the store (`#hasReady`), it is being asked, or an admission waits for each free slot (`#awaited`), or
 *   the slots are closed.
 */
export class Slots<Run> implements DispatchReceiver {
  #held = 0;
  /** Admissions that wait until `#taking` has ended. They come before the runs that are taken next. */
  #awaited = 0;
  #hasReady = false;
  #taking: Promise<void> | undefined;
  #waiters: (() => void)[] = [];
  #isClosed = false;
  readonly #onRelease = () => {
    this.#held--;
    this.#fill();
  };

  /**
   * @param count how many there are
   * @param takeRuns takes so many runs at most that wait in the store; never throws, and never rejects
   * @param start starts a run that was taken, which releases its slot
   */
  constructor(
    private readonly count: number,
    private readonly takeRuns: (count: number) => Awaitable<Run[]>,
    private readonly start: (run: Run, slot: Slot) => void,
  ) {}

  get free(): number {
    return Math.max(0, this.count - this.#held);
  }

  /** Whether runs may wait in the store that this process can take. */
  get hasReady(): boolean {
    return this.#hasReady;
  }

  /**
   * Returns a slot for a run that is being admitted; undefined if there is none.
   *
   * While runs are being taken, slots are kept for them. It is not known yet whether they need them: then it waits.
   */
  reserve(): Awaitable<Slot | undefined> {
    if (this.free > 0 || !this.#taking) return this.#reserve();
    this.#awaited++;
    return this.#taking.then(() => {
      this.#awaited--;
      return this.#reserve();
    });
  }

  /** Returns a slot for a handler that executes in any case. */
  hold(): Slot {
    this.#held++;
    return new Slot(this.#onRelease);
  }

  /**
   * Runs may wait that this process can take.
   *
   * @param freed a slot that is released for them. Default: none
   */
  ready(freed?: Slot): void {
    this.#hasReady = true;
    freed?.release();
    this.#fill();
  }

  async freeSlot(): Promise<void> {
    if (this.#isClosed || this.free === 0) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  async take(): Promise<boolean> {
    this.ready();
    while (this.#taking) await this.#taking;
    return this.#hasReady;
  }

  /** No slot is given from now on. Resolves when the runs are started that are being taken. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#taking;
  }

  #reserve(): Slot | undefined {
    return this.#isClosed || this.free === 0 ? undefined : this.hold();
  }

  #fill(): void {
    if (this.#taking || this.#isClosed) return;
    if (!this.#hasReady) return this.#announce();
    const count = Math.min(this.free - this.#awaited, TAKEN_AT_ONCE);
    if (count <= 0) return;
    this.#hasReady = false;
    this.#held += count;
    const taken = this.takeRuns(count);
    if (isThenable(taken)) this.#taking = Promise.resolve(taken).then((runs) => this.#start(runs, count));
    else this.#start(taken, count);
  }

  #start(runs: Run[], count: number): void {
    this.#taking = undefined;
    this.#held -= count - runs.length;
    if (runs.length === count) this.#hasReady = true;
    for (const run of runs) this.start(run, new Slot(this.#onRelease));
    this.#fill();
  }

  #announce(): void {
    if (this.free === 0) return;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
