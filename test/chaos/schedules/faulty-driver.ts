import type { Signals } from '../../../src/query/index.js';
import type { Driver } from '../../../src/stores/drivers/driver.js';
import type { Db } from '../../../src/stores/schema/tables.js';

/** A database that can be made to fail. */
export class FaultyDriver implements Driver {
  /** Whether every statement is refused. */
  isDown = false;
  /** How many of the next transactions are committed without telling the store. */
  lostAnswers = 0;

  /**
   * @param driver of the database
   * @param aheadMs returns how far the clock of the database is ahead of that of the driver
   */
  constructor(
    private readonly driver: Driver,
    private readonly aheadMs: () => number,
  ) {}

  get name(): string {
    return this.driver.name;
  }

  get isShared(): boolean {
    return this.driver.isShared;
  }

  get signals(): Signals {
    return this.driver.signals;
  }

  get contentDirectory(): string | undefined {
    return this.driver.contentDirectory;
  }

  get journal(): Driver['journal'] {
    return this.driver.journal;
  }

  get db(): Db {
    if (!this.isDown) return this.driver.db;
    return this.driver.db.withPlugin({
      transformQuery: () => {
        throw connectionLost();
      },
      transformResult: async ({ result }) => result,
    });
  }

  transact<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#commit(() => this.driver.transact(work));
  }

  transactAtOnce<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#commit(() => this.driver.transactAtOnce(work));
  }

  snapshot<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#commit(() => this.driver.snapshot(work));
  }

  async promptly<T>(withinMs: number, work: (db: Db) => Promise<T>): Promise<T> {
    if (this.isDown) throw connectionLost();
    return this.driver.promptly(withinMs, work);
  }

  async now(): Promise<number> {
    if (this.isDown) throw connectionLost();
    return (await this.driver.now()) + this.aheadMs();
  }

  lock(db: Db, ...names: string[]): Promise<void> {
    return this.driver.lock(db, ...names);
  }

  outageOf(error: unknown): string | undefined {
    return this.driver.outageOf(error);
  }

  purge(): Promise<void> {
    return this.driver.purge();
  }

  close(): Promise<void> {
    return this.driver.close();
  }

  async #commit<T>(commit: () => Promise<T>): Promise<T> {
    if (this.isDown) throw connectionLost();
    const isLost = this.lostAnswers > 0;
    if (isLost) this.lostAnswers--;
    const value = await commit();
    if (isLost) throw connectionLost();
    return value;
  }
}

function connectionLost(): Error {
  return Object.assign(new Error('The connection was lost.'), { code: 'ECONNRESET' });
}
