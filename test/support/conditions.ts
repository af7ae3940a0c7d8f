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

/** How many times as long as its check a condition rests, where the check takes longer than a tick. */
const REST = 4;

/** As they are before a test replaces them. */
const { setTimeout: afterMilliseconds } = globalThis;
const now = performance.now.bind(performance);

/**
 * Checks a condition until it holds: once per tick at first, then every millisecond, so that a suite that waits leaves the
 * processor to the others. A condition that sends a request is checked more rarely: dozens of requests in a wait cost more
 * than the rest of the test. The time limit of the test ends a wait in vain.
 */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let checks = 0; ; checks++) {
    const begun = now();
    if (await condition()) return;
    const took = now() - begun;
    await new Promise<void>((resolve) => {
      if (took < 1 && checks < TICKS) setImmediate(resolve);
      else afterMilliseconds(resolve, Math.max(1, REST * took));
    });
  }
}

/** Checks a condition of another process every few milliseconds until it holds. The time limit of the test ends a wait in vain. */
export async function eventuallyElsewhere(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    const begun = now();
    if (await condition()) return;
    const took = now() - begun;
    await new Promise((resolve) => setTimeout(resolve, Math.max(10, REST * took)));
  }
}
