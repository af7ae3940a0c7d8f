import { QueryError } from '../../query/index.js';
import type { Db } from '../schema/tables.js';
import type { Work } from './driver.js';
import type { Execute } from './sqlite-thread.js';

interface Step {
  /** Does the work. Returns what settles the step after the commit. */
  execute: () => Promise<() => void>;
  isAtOnce: boolean;
  reject: (error: unknown) => void;
}

/** The most steps of one transaction. A limit, because every step waits for the commit of its group. */
const GROUP_SIZE = 256;

/**
 * Commits steps of work in groups, on the one connection of a SQLite file. Steps that arrive during a commit form the next
 * group.
 *
 * A step that refuses with a `QueryError` must do so before it writes anything; the other steps of its group are
 * committed. After any other error the group is rolled back and each step is repeated in a transaction of its own, so
 * that one failing step does not harm the others.
 */
export class GroupCommit {
  #waiting: Step[] = [];
  /** The statements that wait for the end of the group. */
  #statements: (() => void)[] = [];
  #committing = false;

  /** @param execute passes a statement to the connection, behind those that were passed before */
  constructor(
    private readonly db: Db,
    private readonly execute: Execute,
  ) {}

  /**
   * Does some work in the transaction of a group.
   *
   * @param isAtOnce whether `work` passes all its statements in the tick in which it is called. A group of such steps travels
   * to the database and back once
   * @returns what `work` returned, once it is committed
   */
  commit<T>(work: Work<T>, isAtOnce = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const execute = async () => {
        try {
          const value = await work(this.db);
          return () => resolve(value);
        } catch (error) {
          if (!(error instanceof QueryError)) throw error;
          return () => reject(error);
        }
      };
      this.#waiting.push({ execute, isAtOnce, reject });
      if (!this.#committing) void this.#commitAll();
    });
  }

  /** Executes a statement that belongs to no group. It sees nothing that is not committed. */
  readonly executeAlone: Execute = (text, parameters) => {
    if (!this.#committing) return this.execute(text, parameters);
    return new Promise((resolve) => {
      this.#statements.push(() => resolve(this.execute(text, parameters)));
    });
  };

  async #commitAll(): Promise<void> {
    this.#committing = true;
    // Steps of the same tick belong to the same group.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#commitGroup(this.#waiting.splice(0, GROUP_SIZE));
    this.#committing = false;
  }

  async #commitGroup(steps: Step[]): Promise<void> {
    try {
      const settled = await this.#transact(steps);
      for (const settle of settled) settle();
    } catch (error) {
      if (steps.length === 1) return steps[0]!.reject(error);
      for (const step of steps) await this.#commitGroup([step]);
    } finally {
      for (const execute of this.#statements.splice(0)) execute();
    }
  }

  /** Executes the steps in one transaction. */
  async #transact(steps: Step[]): Promise<(() => void)[]> {
    const atOnce = steps.filter((step) => step.isAtOnce);
    const others = steps.filter((step) => !step.isAtOnce);
    // Asked for before anything else of this tick, so that it comes when all steps have passed their statements, and still
    // travels with them.
    let hasFailed = false;
    const committed = others.length === 0 ? this.#commitAfterThisTick(() => !hasFailed) : undefined;
    const begun = this.execute('begin immediate', []);
    const together = Promise.all([...atOnce.map((step) => step.execute()), begun, committed]);
    together.catch(() => (hasFailed = true));
    try {
      const settled: (() => void)[] = [];
      for (const step of others) settled.push(await step.execute());
      const results = await together;
      if (!committed) await this.execute('commit', []);
      return [...(results.slice(0, atOnce.length) as (() => void)[]), ...settled];
    } catch (error) {
      // A step may have failed before the others have passed their statements. None of them may come after the rollback.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      // Some errors, such as a full disk, have ended the transaction already. Then there is nothing to roll back.
      await this.execute('rollback', []).catch(() => undefined);
      throw error;
    }
  }

  /** Commits if the steps have passed all their statements. The promise stays pending if they have not. */
  #commitAfterThisTick(mayCommit: () => boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      process.nextTick(() => {
        if (mayCommit()) this.execute('commit', []).then(resolve, reject);
      });
    });
  }
}
