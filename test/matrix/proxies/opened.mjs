import process from 'node:process';
import { parseArgs } from 'node:util';

/** What a program has started, so that it leaves no process behind, however it ends. */
export class Opened {
  #starting = new Set();
  #isOver = false;

  /**
   * Starts something, and keeps it.
   *
   * @param start returns a promise of something with `stop`
   * @returns what was started
   * @throws Error if everything is being stopped
   */
  async keep(start) {
    if (this.#isOver) throw new Error('Everything is being stopped.');
    const starting = start();
    this.#starting.add(starting);
    return starting;
  }

  /** Stops one thing before the others. */
  async stop(started) {
    for (const starting of this.#starting) {
      if ((await settled(starting)) !== started) continue;
      this.#starting.delete(starting);
      await started.stop();
    }
  }

  /** Stops everything, also what is only being started. Nothing can be started after it. */
  async stopAll() {
    this.#isOver = true;
    const all = [...this.#starting];
    this.#starting.clear();
    await Promise.all(all.map(async (starting) => (await settled(starting))?.stop()));
  }
}

/**
 * Executes a program that measures, with `--only` and `--check`, and stops what it has started, also at a signal.
 *
 * @param main gets the options and an {@link Opened}; what it throws is written, and the exit code is 1
 * @param further further options, as `parseArgs` takes them
 */
export async function measuring(main, further = {}) {
  const opened = new Opened();
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])
    process.once(signal, () => {
      console.error(`${signal}: what was started is stopped.`);
      void opened.stopAll().finally(() => process.exit(code));
    });
  try {
    const { values } = parseArgs({
      options: { only: { type: 'string' }, check: { type: 'boolean' }, ...further },
    });
    await main(values, opened);
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  } finally {
    await opened.stopAll();
  }
}

const settled = (starting) => starting.catch(() => undefined);

/** Does something with each of a list, with so many of them at a time. */
export async function eachOf(list, atOnce, work) {
  const left = list.values();
  const workInTurn = async () => {
    for (const each of left) await work(each);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, list.length) }, workInTurn));
}
