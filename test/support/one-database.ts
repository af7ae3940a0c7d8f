import { sql } from 'kysely';
import type { Driver } from '../../src/stores/drivers/driver.js';
import type { SqlRunStore } from '../../src/stores/sql-run-store.js';

/** What is not emptied. Triggers keep the counts of runs that wait, on Postgres during the commit. */
export const KEPT_TABLES = /^(migration.*|waiting_counts|signal_channel)$/;

/**
 * A database that the tests have one after another. Its tables are emptied after each: this takes a tenth of the time that a
 * new database and its connections take.
 */
export class OneDatabase<D extends Driver> {
  readonly #open: () => Promise<D>;
  #driver: D | undefined;
  #close: (() => Promise<void>) | undefined;
  #deletions: string[] | undefined;

  constructor(open: () => Promise<D>) {
    this.#open = open;
  }

  /** Its driver, whose connections stay when a store closes it. */
  async driver(): Promise<D> {
    if (this.#driver) return this.#driver;
    const driver = await this.#open();
    this.#close = driver.close.bind(driver);
    driver.close = async () => undefined;
    return (this.#driver = driver);
  }

  /** Cuts the connections, so that a store cannot write anything when it is closed. */
  async crash(store: SqlRunStore): Promise<void> {
    await this.#driver!.db.destroy();
    await store.close().catch(() => undefined);
    await this.close().catch(() => undefined);
  }

  /** Deletes all rows. */
  async empty(): Promise<void> {
    const driver = await this.driver();
    this.#deletions ??= (await driver.db.introspection.getTables())
      .filter(({ name }) => !KEPT_TABLES.test(name))
      .map(({ schema, name }) => `delete from ${schema === undefined ? name : `${schema}.${name}`}`);
    const deletions = this.#deletions;
    // Postgres takes several statements as one, which is a transaction. In a transaction of Kysely each would be a round trip.
    if (driver.isShared) await sql.raw(deletions.join(';')).execute(driver.db);
    else await driver.transact((db) => Promise.all(deletions.map((one) => sql.raw(one).execute(db))));
  }

  async close(): Promise<void> {
    this.#driver = undefined;
    await this.#close?.();
    this.#close = undefined;
  }
}
