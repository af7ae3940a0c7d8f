/** A promise and the function that resolves it. */
export interface Deferred<T = void> {
  promise: Promise<T>;
  resolve(value: T): void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** How often a condition is checked without a pause: most conditions hold after a few ticks. */
const TICKS = 100;

/** As it is before a test replaces it. */
const { setTimeout: afterMilliseconds } = globalThis;

/**
 * Checks a condition until it holds: once per tick at first, then every millisecond, so that a suite that waits leaves the
 * processor to the others. The time limit of the test ends a wait in vain.
 */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let checks = 0; !(await condition()); checks++)
    await new Promise<void>((resolve) => {
      if (checks < TICKS) setImmediate(resolve);
      else afterMilliseconds(resolve, 1);
    });
}

/** Checks a condition of another process every few milliseconds until it holds. The time limit of the test ends a wait in vain. */
export async function eventuallyElsewhere(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}
