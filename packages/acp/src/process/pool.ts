import { ProcessSlots } from 'nest-agent-query/agents/command';

/** What is kept between the turns of a session. */
export interface Kept {
  /** Resolves when it is gone. Never rejects. */
  stop(): Promise<void>;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;
  /** Whether this process may end while it lives. */
  letExit(mayExit: boolean): void;
}

interface Idle<T> {
  kept: T;
  timer: NodeJS.Timeout;
}

/** Bounds the processes, and keeps those that are idle for the next turn of their session. */
export class Pool<T extends Kept> {
  readonly #slots: ProcessSlots;
  /** By session. The first is idle for the longest time. */
  readonly #idle = new Map<string, Idle<T>>();
  /** The ends of what was kept, by session. */
  readonly #ending = new Map<string, Promise<void>>();
  #isClosed = false;

  /**
   * @param processes how many there may be
   * @param keepMs milliseconds for which a process is kept; 0: none is
   */
  constructor(
    processes: number,
    private readonly keepMs: number,
  ) {
    this.#slots = new ProcessSlots(processes);
  }

  /** Whether `take` need not wait for another run. */
  get isFree(): boolean {
    return this.#slots.isFree || this.#idle.size > 0;
  }

  /**
   * Takes a slot, or waits for one. Who has one calls `release` or `keep` once.
   *
   * @param key of the session
   * @returns what was kept of the session, if anything; undefined if the signal aborts before
   */
  async take(key: string, signal: AbortSignal): Promise<{ kept: T | undefined } | undefined> {
    if (signal.aborted) return undefined;
    const kept = this.#takeIdle(key);
    if (kept) return { kept };
    if (!this.#slots.isFree) void this.#evict();
    if (!(await this.#slots.take(signal))) return undefined;
    // Two processes must not have one session of the agent.
    await this.#ending.get(key);
    return { kept: undefined };
  }

  release(): void {
    this.#slots.release();
  }

  /** Keeps what is idle, with its slot. Resolves at once, or when it is gone because another run needs the slot. */
  async keep(key: string, kept: T): Promise<void> {
    if (this.keepMs === 0 || this.#isClosed) return this.#stop(key, kept);
    const timer = setTimeout(() => void this.end(key), this.keepMs);
    timer.unref();
    kept.letExit(true);
    this.#idle.set(key, { kept, timer });
    void kept.ended.then(() => {
      if (this.#idle.get(key)?.kept === kept) void this.end(key);
    });
    if (this.#slots.isAwaited) await this.#evict();
  }

  /**
   * Ends what is kept of a session. Resolves when it is gone.
   *
   * @param before is called with it, to say goodbye
   */
  async end(key: string, before?: (kept: T) => Promise<void>): Promise<void> {
    const kept = this.#takeIdle(key);
    if (kept) await this.#stop(key, kept, before);
    else await this.#ending.get(key);
  }

  /** Ends everything that is kept. Nothing is kept from now on. Resolves when all is gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#idle.keys()].map((key) => this.end(key)));
  }

  async #evict(): Promise<void> {
    const [oldest] = this.#idle.keys();
    if (oldest !== undefined) await this.end(oldest);
  }

  async #stop(key: string, kept: T, before?: (kept: T) => Promise<void>): Promise<void> {
    const ended = (async () => {
      try {
        await before?.(kept);
      } finally {
        await kept.stop();
        this.release();
      }
    })();
    const settled = ended.catch(() => undefined);
    this.#ending.set(key, settled);
    try {
      await ended;
    } finally {
      if (this.#ending.get(key) === settled) this.#ending.delete(key);
    }
  }

  #takeIdle(key: string): T | undefined {
    const idle = this.#idle.get(key);
    if (!idle) return undefined;
    this.#idle.delete(key);
    clearTimeout(idle.timer);
    idle.kept.letExit(false);
    return idle.kept;
  }
}
