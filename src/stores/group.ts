import { sql } from 'kysely';
import type { Db } from './schema.js';

interface Step {
  work: (db: Db) => Promise<unknown>;
  isOneStatement: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** How many steps one transaction takes at most, so that none waits long for its commit. */
const GROUP_SIZE = 256;

/**
 * Commits steps of work in groups: those that come while a commit is under way go with the next one. A step that fails
 * takes back what it did itself, and the others of its group are committed.
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
      for (const { reject } of steps) reject(error);
    }
  }
}

async function transaction(db: Db, steps: Step[]): Promise<(() => void)[]> {
  const [alone] = steps;
  if (steps.length === 1 && alone!.isOneStatement) return [await take(db, alone!, true)];
  await sql`begin immediate`.execute(db);
  try {
    const settled: (() => void)[] = [];
    for (const step of steps) settled.push(await take(db, step, steps.length === 1));
    await sql`commit`.execute(db);
    return settled;
  } catch (error) {
    // Fails where the error has ended the transaction already.
    await sql`rollback`.execute(db).catch(() => undefined);
    throw error;
  }
}

async function take(db: Db, { work, resolve, reject }: Step, isAlone: boolean): Promise<() => void> {
  if (isAlone) {
    const value = await work(db);
    return () => resolve(value);
  }
  await sql`savepoint step`.execute(db);
  try {
    const value = await work(db);
    await sql`release step`.execute(db);
    return () => resolve(value);
  } catch (error) {
    try {
      await sql`rollback to step`.execute(db);
      await sql`release step`.execute(db);
    } catch {
      // A full disk, for one, has ended the whole transaction: it concerns the group.
      throw error;
    }
    return () => reject(error);
  }
}
