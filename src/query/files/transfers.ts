import { filesOfOwnerExceeded } from '../contract/refusals.js';

/** The files of one body, from their arrival until they are no longer needed. */
export interface Transfer {
  /**
   * More bytes of a file have arrived.
   *
   * @returns undefined, or a promise if the store must be asked. It rejects with the same errors
   * @throws {QueryError} `rate_limited`: the files of the owner that are in transit exceed the limit · `unavailable`
   */
  count(bytes: number): Promise<void> | undefined;
  /** The files are no longer needed. Can be called again. */
  end(): void;
}

/** Reserves bytes of an owner among all processes: see `RunStore.reserveUploads`. */
export type Reserve = (owner: string, bytes: number, maxBytes: number) => Promise<boolean>;

const UNLIMITED: Transfer = { count: () => undefined, end: () => undefined };

/** How much more than it needs a process reserves for an owner, as a share of the limit: so that it asks less often. */
const AHEAD = 1 / 16;

/** How long a process keeps what it has reserved and no longer needs. */
const KEEP_MS = 1_000;

interface OwnerBytes {
  used: number;
  /** `used` may grow to this without a question to the store. */
  reserved: number;
  /** Questions to the store are asked one after another. */
  lastQuestion: Promise<unknown>;
  /** How many of them have not been answered. */
  questions: number;
  returning: NodeJS.Timeout | undefined;
}

/** The bytes of files in transit of each owner: from their arrival until their run no longer needs them. */
export class Transfers {
  readonly #owners = new Map<string, OwnerBytes>();
  #isClosed = false;

  /**
   * @param maxBytes how many an owner may have at the same time
   * @param reserve where processes share the limit
   */
  constructor(
    private readonly maxBytes: number,
    private readonly reserve?: Reserve,
  ) {}

  /** Counts the files of one body of an owner, until they are no longer needed. */
  begin(owner: string): Transfer {
    if (this.maxBytes === Infinity) return UNLIMITED;
    let own = 0;
    let hasEnded = false;
    const giveBack = () => {
      this.#giveBack(owner, own);
      own = 0;
    };
    return {
      count: (bytes) =>
        this.#take(owner, bytes, () => {
          own += bytes;
          // It may have ended while the store was asked.
          if (hasEnded) giveBack();
        }),
      end: () => {
        hasEnded = true;
        giveBack();
      },
    };
  }

  /** Called by Nest once all requests have ended. */
  onApplicationShutdown(): void {
    this.close();
  }

  /** Reserves nothing from now on. What is reserved ends with the process. */
  close(): void {
    this.#isClosed = true;
    for (const { returning } of this.#owners.values()) clearTimeout(returning);
  }

  #take(owner: string, bytes: number, taken: () => void): Promise<void> | undefined {
    const all = this.#of(owner);
    if (all.used + bytes > this.maxBytes) throw filesOfOwnerExceeded(this.maxBytes);
    if (all.questions === 0 && all.used + bytes <= all.reserved) {
      all.used += bytes;
      taken();
      return undefined;
    }
    return this.#inTurn(all, async () => {
      const needed = all.used + bytes;
      if (needed > all.reserved && needed <= this.maxBytes) await this.#reserve(owner, all, needed);
      if (needed > all.reserved) throw filesOfOwnerExceeded(this.maxBytes);
      all.used += bytes;
      taken();
    });
  }

  #giveBack(owner: string, bytes: number): void {
    const all = this.#owners.get(owner);
    if (!all) return;
    all.used -= bytes;
    if (this.reserve) this.#returnLater(owner, all);
    else if (all.used === 0) this.#owners.delete(owner);
  }

  #returnLater(owner: string, all: OwnerBytes): void {
    if (this.#isClosed) return;
    all.returning ??= setTimeout(() => {
      all.returning = undefined;
      this.#inTurn(all, async () => {
        if (this.#withAhead(all.used) < all.reserved) await this.#reserve(owner, all, all.used);
        if (all.reserved === 0 && all.questions === 1) this.#owners.delete(owner);
      }).catch(() => this.#returnLater(owner, all));
    }, KEEP_MS).unref();
  }

  /** Reserves so many bytes in place of those before, and some ahead if the others leave them. */
  async #reserve(owner: string, all: OwnerBytes, bytes: number): Promise<void> {
    for (const amount of [this.#withAhead(bytes), bytes]) {
      if (!(await this.reserve!(owner, amount, this.maxBytes))) continue;
      all.reserved = amount;
      return;
    }
  }

  #withAhead(bytes: number): number {
    return bytes === 0 ? 0 : Math.min(bytes + Math.floor(this.maxBytes * AHEAD), this.maxBytes);
  }

  /** A rejection of the result need not be handled: the reader of a body that has ended waits for nothing. */
  #inTurn(all: OwnerBytes, question: () => Promise<void>): Promise<void> {
    all.questions++;
    const answered = all.lastQuestion.then(question).finally(() => all.questions--);
    all.lastQuestion = answered.catch(() => undefined);
    return answered;
  }

  #of(owner: string): OwnerBytes {
    let all = this.#owners.get(owner);
    if (!all) {
      // A process that shares the limit with no other has the whole of it.
      const reserved = this.reserve ? 0 : this.maxBytes;
      all = { used: 0, reserved, lastQuestion: Promise.resolve(), questions: 0, returning: undefined };
      this.#owners.set(owner, all);
    }
    return all;
  }
}
