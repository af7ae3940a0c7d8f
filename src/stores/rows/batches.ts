import { QueryError } from '../../query/index.js';

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** The most items of a batch, and their length together, unless its first item is longer. Each item waits for its whole batch. */
const BATCH = { size: 256, length: 8 * 1024 * 1024 };

/**
 * Waits for what is to be done together: what comes in the same tick. Under load, when the last batch had several items, it is
 * what comes in the same turn of the event loop.
 */
function untilGathered(lastSize: number): Promise<void> {
  return new Promise((resolve) => {
    if (lastSize > 1) setImmediate(resolve);
    else process.nextTick(resolve);
  });
}

/**
 * Does the same work for many items together. Items that come during a batch form the next one, so that batches grow under load
 * by themselves. After an error that is no `QueryError`, each item of the batch is tried alone, so that one failing item does
 * not harm the others.
 */
export class Batches<Item, Result> {
  #waiting: Waiting<Item, Result>[] = [];
  #isGathering = false;
  #batches = 0;
  /** How many items the last batch had. */
  #lastSize = 0;

  /**
   * @param work returns a result for each item, in the same order
   * @param lengthOf the length of an item, in characters
   * @param size the most items of a batch
   * @param atOnce how many batches there are at the same time
   */
  constructor(
    private readonly work: (items: Item[]) => Promise<Result[]>,
    private readonly lengthOf: (item: Item) => number,
    private readonly size = BATCH.size,
    private readonly atOnce = 1,
  ) {}

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#begin();
    });
  }

  #begin(): void {
    if (this.#waiting.length === 0 || this.#isGathering || this.#batches === this.atOnce) return;
    this.#isGathering = true;
    void this.#workOnBatch();
  }

  async #workOnBatch(): Promise<void> {
    this.#batches++;
    await untilGathered(this.#lastSize);
    this.#isGathering = false;
    const batch = this.#takeBatch();
    this.#lastSize = batch.length;
    this.#begin();
    await this.#settle(batch);
    this.#batches--;
    this.#begin();
  }

  #takeBatch(): Waiting<Item, Result>[] {
    let length = 0;
    const end = this.#waiting.findIndex(({ item }, index) => {
      length += this.lengthOf(item);
      return index > 0 && (index === this.size || length > BATCH.length);
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #settle(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.work(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(results[index]!);
    } catch (error) {
      if (batch.length > 1 && !(error instanceof QueryError)) {
        for (const one of batch) await this.#settle([one]);
        return;
      }
      for (const { reject } of batch) reject(error);
    }
  }
}
