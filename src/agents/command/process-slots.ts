/** The right to have one process, or a place in the queue for it. */
export interface ProcessSlot {
  readonly isGranted: boolean;
  /** Resolves when the right is granted. */
  readonly granted: Promise<void>;
  /** Gives the right to the next in the queue, or leaves the queue. Call it once. */
  release(): void;
}

/** Limits how many processes there are at the same time. Who comes first is served first. */
export class ProcessSlots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  /** @param count how many processes there may be */
  constructor(count: number) {
    this.#free = count;
  }

  /** Takes a slot, or a place in the queue. */
  take(): ProcessSlot {
    let grant!: () => void;
    let isGranted = false;
    const granted = new Promise<void>((resolve) => {
      grant = () => {
        isGranted = true;
        resolve();
      };
    });
    if (this.#free > 0) {
      this.#free -= 1;
      grant();
    } else this.#waiting.add(grant);
    return {
      get isGranted() {
        return isGranted;
      },
      granted,
      release: () => (isGranted ? this.#pass() : void this.#waiting.delete(grant)),
    };
  }

  #pass(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
