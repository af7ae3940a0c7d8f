import { sql } from 'kysely';
import { dayOf, USAGE_DAYS } from '../../query/index.js';
import { type Database, logFault } from '../drivers/database.js';
import { addUsage, selectUsing } from '../rows/usage-rows.js';

/** So many runs may end before this process adds up what they have used: for an owner, a file reads through all of these. */
const FRESH_RUNS = 2_000;

/** One transaction adds up what runs have used that ended within so many milliseconds. */
const STEP_MS = 10_000;

/** Keeps the sums of usage. */
export class UsageSums {
  /** How many runs with usage have ended here since the last time. */
  #fresh = 0;
  #adding: Promise<void> | undefined;
  /** The day on which this process has removed what was too old. */
  #cleanedOn = 0;

  constructor(private readonly database: Database) {}

  /** Counts a run with usage that has ended here. After many, adds up what is new. */
  count(): void {
    if (++this.#fresh < FRESH_RUNS) return;
    this.addUp().catch((error: unknown) => logFault('Usage could not be added up', error));
  }

  /** Adds up what is new, and removes what is too old. */
  addUp(): Promise<void> {
    this.#fresh = 0;
    return (this.#adding ??= this.#addUp().finally(() => (this.#adding = undefined)));
  }

  async #addUp(): Promise<void> {
    const { database } = this;
    // By the time of their ends, because what ended together is on few pages.
    for (const step of await this.#steps()) {
      const from = step * STEP_MS;
      await database.attempt(
        (db) => addUsage(db, database.driver, (run) => run.between('ended_at', from, from + STEP_MS - 1)),
        'transaction',
      );
    }
    const today = dayOf(database.now());
    if (this.#cleanedOn === today) return;
    const oldest = today - USAGE_DAYS;
    await database.attempt((db) => db.deleteFrom('usage').where('day', '<', oldest).execute());
    this.#cleanedOn = today;
  }

  /** The steps of time in which runs ended whose usage is not added up. Most sweeps find none, and need no transaction. */
  async #steps(): Promise<number[]> {
    // No condition on `ended_at`: SQLite would use the index of that, and read all runs that have ended.
    const rows = await this.database.attempt((db) =>
      selectUsing(db)
        .select(sql<number | null>`ended_at / ${sql.lit(STEP_MS)}`.as('step'))
        .groupBy('step')
        .orderBy('step')
        .execute(),
    );
    return rows.flatMap(({ step }) => step ?? []);
  }
}
