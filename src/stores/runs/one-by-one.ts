/**
 * Does work of the same name one after another. Transactions that would wait for one another in the database wait here instead, so
 * that they do not occupy the connections that others need.
 */
export class OneByOne {
  readonly #last = new Map<string, Promise<void>>();

  /** @returns what the work returns, when its turn has come */
  do<T>(name: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const forget = () => {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    };
    const settled: Promise<void> = done.then(forget, forget);
    this.#last.set(name, settled);
    return done;
  }
}
