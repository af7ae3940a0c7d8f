import { sql } from 'kysely';
import { QueryError } from '../../query/index.js';
import type { Db } from '../schema/tables.js';

interface Step {
  work: (db: Db) => Promise<unknown>;
  isOneStatement: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** The most steps of one transaction. A limit, because every step waits for the commit of its group. */
const GROUP_SIZE = 256;

/**
 * Commits steps of work in groups. Steps that arrive during a commit form the next group.
 *
 * A step that refuses with a `QueryError` must do so before it writes anything; the other steps of its group are
 * committed. After any other error the group is rolled back and each step is repeated in a transaction of its own, so
 * that one failing step does not harm the others.
 */
export class GroupCommit {
  #waiting: Step[] = [];
  #committing = false;

  /** @param db a database of which one connection at a time is used */
  constructor(private readonly db: Db) {}

  /**
   * Does some work in the transaction of a group.
   *
   * @param isOneStatement whether `work` is a single statement; alone in a group, it needs no explicit transaction
   * @returns what `work` returned, once it is committed
   */
  commit<T>(work: (db: Db) => Promise<T>, isOneStatement = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, isOneStatement, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#committing) void this.#commitAll();
    });
  }

  async #commitAll(): Promise<void> {
    this.#committing = true;
    // Steps of the same tick belong to the same group.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commitGroup(this.#waiting.splice(0, GROUP_SIZE));
    this.#committing = false;
  }

  async #commitGroup(steps: Step[]): Promise<void> {
    try {
      const settled = await this.db.connection().execute((db) => transaction(db, steps));
      for (const settle of settled) settle();
    } catch (error) {
      if (steps.length === 1) return steps[0]!.reject(error);
      for (const step of steps) await this.#commitGroup([step]);
    }
  }
}

/** Does the steps in one transaction. Returns what settles each of them after the commit. */
async function transaction(db: Db, steps: Step[]): Promise<(() => void)[]> {
  const [first] = steps;
  if (steps.length === 1 && first!.isOneStatement) return [await execute(db, first!)];
  await sql`begin immediate`.execute(db);
  try {
    const settled: (() => void)[] = [];
    for (const step of steps) settled.push(await execute(db, step));
    await sql`commit`.execute(db);
    return settled;
  } catch (error) {
    // Some errors, such as a full disk, have ended the transaction already. Then there is nothing to roll back.
    await sql`rollback`.execute(db).catch(() => undefined);
    throw error;
  }
}

async function execute(db: Db, { work, resolve, reject }: Step): Promise<() => void> {
  try {
    const value = await work(db);
    return () => resolve(value);
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return () => reject(error);
  }
}
