/** Milliseconds between two checks by the timer. */
const INTERVAL = 50;
/** Bytes that may be allocated between two checks by the constructors. */
const STEP = 1024 * 1024;

/**
 * Limits the memory of typed arrays in this thread. The thread's own limits count only objects and strings, but parsers
 * unpack into typed arrays, and a PDF of three kilobytes can unpack to several gigabytes.
 *
 * Both checks are needed: a timer for memory that is allocated over many ticks of the event loop, and the constructors
 * for parsers that block the event loop.
 *
 * @param maxBytes the limit
 * @param onExceeded called each time that an allocation exceeds the limit; the allocation itself then fails with a
 *   RangeError
 */
export function guardMemory(maxBytes: number, onExceeded: () => void): void {
  let sinceCheck = 0;
  const check = (bytes: number) => {
    sinceCheck += bytes;
    if (sinceCheck < STEP) return;
    sinceCheck = 0;
    if (process.memoryUsage().arrayBuffers + bytes <= maxBytes) return;
    onExceeded();
    throw new RangeError('The memory limit of this thread is reached');
  };
  for (const name of [
    'ArrayBuffer',
    'Uint8Array',
    'Uint8ClampedArray',
    'Uint16Array',
    'Uint32Array',
  ] as const) {
    watch(name, check);
  }
  setInterval(() => {
    if (process.memoryUsage().arrayBuffers > maxBytes) onExceeded();
  }, INTERVAL).unref();
}

function watch(
  name: 'ArrayBuffer' | 'Uint8Array' | 'Uint8ClampedArray' | 'Uint16Array' | 'Uint32Array',
  check: (bytes: number) => void,
): void {
  const original = globalThis[name];
  const unit = 'BYTES_PER_ELEMENT' in original ? original.BYTES_PER_ELEMENT : 1;
  const watched: unknown = new Proxy(original, {
    construct(target, parameters: unknown[], newTarget) {
      if (typeof parameters[0] === 'number') check(parameters[0] * unit);
      return Reflect.construct(target, parameters, newTarget === watched ? target : newTarget) as object;
    },
  });
  Object.defineProperty(globalThis, name, { value: watched, configurable: true, writable: true });
}
