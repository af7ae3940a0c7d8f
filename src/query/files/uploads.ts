import { filesOfOwnerExceeded } from '../contract/refusals.js';

/** The bytes of the files of one query. */
export interface Upload {
  /**
   * More bytes of a file have arrived.
   *
   * @throws {QueryError} `rate_limited`: the files of the owner that are in transit exceed the limit
   */
  count(bytes: number): void;
  /** The files are no longer needed. Can be called again. */
  end(): void;
}

/** The bytes of files in transit of each owner: from their arrival until their run no longer needs them. */
export class Uploads {
  readonly #bytesOf = new Map<string, number>();

  /** @param maxBytes how many an owner may have at the same time */
  constructor(private readonly maxBytes: number) {}

  /** Counts the files of one query of an owner, until the query ends. */
  begin(owner: string): Upload {
    if (this.maxBytes === Infinity) return UNLIMITED;
    let own = 0;
    return {
      count: (bytes) => {
        const all = this.#bytesOf.get(owner) ?? 0;
        if (all + bytes > this.maxBytes) throw filesOfOwnerExceeded(this.maxBytes);
        own += bytes;
        this.#bytesOf.set(owner, all + bytes);
      },
      end: () => {
        const others = (this.#bytesOf.get(owner) ?? 0) - own;
        own = 0;
        if (others > 0) this.#bytesOf.set(owner, others);
        else this.#bytesOf.delete(owner);
      },
    };
  }
}

const UNLIMITED: Upload = { count: () => undefined, end: () => undefined };
