import { filesOfOwnerExceeded } from '../contract/refusals.js';

/** The bytes of the files of one query. */
export interface Upload {
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

/** How much more than it needs a process reserves for an owner, as a share of the limit: so that it asks less often. */
const AHEAD = 1 / 16;

/** How long a process keeps what it has reserved and no longer needs. */
const KEEP_MS = 1_000;

/** The bytes of an owner in this process. */
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
export class Uploads {
  readonly #bytesOf = new Map<string, OwnerBytes>();
  #isClosed = false;

  /**
   * @param maxBytes how many an owner may have at the same time
   * @param reserve where processes share the limit
   */
  constructor(
    private readonly maxBytes: number,
    private readonly reserve?: Reserve,
  ) {}

  /** Counts the files of one query of an owner, until the query ends. */
  begin(owner: string): Upload {
    if (this.maxBytes === Infinity) return UNLIMITED;
    let own = 0;
    let hasEnded = false;
    const give = () => {
      this.#giveBack(owner, own);
      own = 0;
    };
    return {
      count: (bytes) => {
        const asked = this.#take(owner, bytes);
        if (!asked) {
          own += bytes;
          return undefined;
        }
        const counted = asked.then(() => {
          own += bytes;
          if (hasEnded) give();
        });
        // The reader of a body that has ended waits for nothing.
        counted.catch(() => undefined);
        return counted;
      },
      end: () => {
        hasEnded = true;
        give();
      },
    };
  }

  /** Reserves nothing from now on. What is reserved ends with the process. */
  close(): void {
    this.#isClosed = true;
    for (const { returning } of this.#bytesOf.values()) clearTimeout(returning);
  }

  #take(owner: string, bytes: number): Promise<void> | undefined {
    const all = this.#of(owner);
    if (all.questions > 0 || all.used + bytes > all.reserved) {
      if (this.reserve && all.used + bytes <= this.maxBytes)
        return this.#ask(owner, all, bytes, this.reserve);
      throw filesOfOwnerExceeded(this.maxBytes);
    }
    all.used += bytes;
    return undefined;
  }

  #ask(owner: string, all: OwnerBytes, bytes: number, reserve: Reserve): Promise<void> {
    return this.#inTurn(all, async () => {
      const needed = all.used + bytes;
      const amounts = needed <= all.reserved ? [] : [Math.min(needed + this.#ahead, this.maxBytes), needed];
      for (const amount of amounts) {
        if (amount > this.maxBytes || !(await reserve(owner, amount, this.maxBytes))) continue;
        all.reserved = amount;
        break;
      }
      if (needed > all.reserved) throw filesOfOwnerExceeded(this.maxBytes);
      all.used += bytes;
    });
  }

  #giveBack(owner: string, bytes: number): void {
    const all = this.#bytesOf.get(owner);
    if (!all) return;
    all.used -= bytes;
    if (this.reserve) this.#returnLater(owner, all, this.reserve);
    else if (all.used === 0) this.#bytesOf.delete(owner);
  }

  #returnLater(owner: string, all: OwnerBytes, reserve: Reserve): void {
    if (this.#isClosed) return;
    all.returning ??= setTimeout(() => {
      all.returning = undefined;
      this.#inTurn(all, () => this.#return(owner, all, reserve)).catch(() =>
        this.#returnLater(owner, all, reserve),
      );
    }, KEEP_MS).unref();
  }

  async #return(owner: string, all: OwnerBytes, reserve: Reserve): Promise<void> {
    const before = all.reserved;
    const amount = all.used === 0 ? 0 : Math.min(all.used + this.#ahead, this.maxBytes);
    if (amount < before) {
      all.reserved = amount;
      try {
        await reserve(owner, amount, this.maxBytes);
      } catch (error) {
        all.reserved = before;
        throw error;
      }
    }
    if (all.reserved === 0 && all.questions === 1) this.#bytesOf.delete(owner);
  }

  #inTurn(all: OwnerBytes, question: () => Promise<void>): Promise<void> {
    all.questions++;
    const answered = all.lastQuestion.then(question).finally(() => all.questions--);
    all.lastQuestion = answered.catch(() => undefined);
    return answered;
  }

  #of(owner: string): OwnerBytes {
    let all = this.#bytesOf.get(owner);
    if (!all) {
      const reserved = this.reserve ? 0 : this.maxBytes;
      all = { used: 0, reserved, lastQuestion: Promise.resolve(), questions: 0, returning: undefined };
      this.#bytesOf.set(owner, all);
    }
    return all;
  }

  get #ahead(): number {
    return Math.floor(this.maxBytes * AHEAD);
  }
}

const UNLIMITED: Upload = { count: () => undefined, end: () => undefined };
