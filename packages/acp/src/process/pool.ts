import { ProcessSlots } from 'nest-agent-query/agents/command';

/** What is kept between the turns of a session. */
export interface Kept {
  /** Resolves when it is gone. Never rejects. */
  stop(): Promise<void>;
  /** Resolves when it has ended by itself. */
  readonly ended: Promise<void>;
}

/** Bounds the processes, and keeps those that are idle for the next turn of their session. */
export class Pool<T extends Kept> {
  readonly #slots: ProcessSlots;
  readonly #idle = new Map<string, { kept: T; timer: NodeJS.Timeout }>();
  #isClosed = false;

  constructor(
    processes: number,
    private readonly keepMs: number,
  ) {
    this.#slots = new ProcessSlots(processes);
  }

  /** Whether `take` need not wait. */
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
    const kept = this.#takeIdle(key);
    if (kept) return { kept };
    if (!this.#slots.isFree) void this.#evict();
    return (await this.#slots.take(signal)) ? { kept: undefined } : undefined;
  }

  release(): void {
    this.#slots.release();
  }

  /** Keeps what is idle, with its slot. */
  async keep(key: string, kept: T): Promise<void> {
    if (this.keepMs === 0 || this.#isClosed) {
      await kept.stop();
      return this.release();
    }
    const timer = setTimeout(() => void this.end(key), this.keepMs);
    timer.unref();
    this.#idle.set(key, { kept, timer });
    void kept.ended.then(() => {
      if (this.#idle.get(key)?.kept === kept) void this.end(key);
    });
    if (!this.#slots.isFree && this.#slots.isAwaited) await this.#evict();
  }

  /** Ends what is kept of a session. @param before is called with it, to say goodbye */
  async end(key: string, before?: (kept: T) => Promise<void>): Promise<void> {
    const kept = this.#takeIdle(key);
    if (!kept) return;
    await before?.(kept);
    await kept.stop();
    this.release();
  }

  /** Ends everything that is kept. Nothing is kept from now on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#idle.keys()].map((key) => this.end(key)));
  }

  async #evict(): Promise<void> {
    const [oldest] = this.#idle.keys();
    if (oldest !== undefined) await this.end(oldest);
  }

  #takeIdle(key: string): T | undefined {
    const idle = this.#idle.get(key);
    if (!idle) return undefined;
    this.#idle.delete(key);
    clearTimeout(idle.timer);
    return idle.kept;
  }
}
