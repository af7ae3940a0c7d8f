import { sql } from 'kysely';
import { QueryError } from '../../query/index.js';
import type { Db } from '../schema/tables.js';

interface Step {
  work: (db: Db) => Promise<unknown>;
  isOneStatement: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** How many steps one transaction takes at most, so that none waits long for its commit. */
const GROUP_SIZE = 256;

/**
 * Commits steps of work in groups: those that come while a commit is under way go with the next one.
 *
 * A step that refuses with a `QueryError` does so before it writes anything; the others of its group are committed. With
 * any other error the group is rolled back and each step is done again by itself, so that it harms nobody else.
 */
export class Group {
  #waiting: Step[] = [];
  #committing = false;

  /** @param db a database of which one connection at a time is used */
  constructor(private readonly db: Db) {}

  /**
   * Resolves with what `work` returned once it is committed.
   *
   * @param isOneStatement whether it is, and so is a transaction by itself
   */
  commit<T>(work: (db: Db) => Promise<T>, isOneStatement = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, isOneStatement, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#committing) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#committing = true;
    // What comes in this very turn goes along.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0, GROUP_SIZE));
    this.#committing = false;
  }

  async #commit(steps: Step[]): Promise<void> {
    try {
      const settled = await this.db.connection().execute((db) => transaction(db, steps));
      for (const settle of settled) settle();
    } catch (error) {
      if (steps.length === 1) return steps[0]!.reject(error);
      for (const step of steps) await this.#commit([step]);
    }
  }
}

async function transaction(db: Db, steps: Step[]): Promise<(() => void)[]> {
  const [alone] = steps;
  if (steps.length === 1 && alone!.isOneStatement) return [await take(db, alone!)];
  await sql`begin immediate`.execute(db);
  try {
    const settled: (() => void)[] = [];
    for (const step of steps) settled.push(await take(db, step));
    await sql`commit`.execute(db);
    return settled;
  } catch (error) {
    // Fails where the error has ended the transaction already: a full disk, for one.
    await sql`rollback`.execute(db).catch(() => undefined);
    throw error;
  }
}

async function take(db: Db, { work, resolve, reject }: Step): Promise<() => void> {
  try {
    const value = await work(db);
    return () => resolve(value);
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return () => reject(error);
  }
}
