/** How often, in milliseconds, memory is looked at where nothing else asks for it. */
const INTERVAL = 50;
/** Bytes that may be asked for between two looks. */
const STEP = 1024 * 1024;

/**
 * Watches the memory of typed arrays in this thread. The thread's own limits count objects and strings only; what a
 * parser unpacks lies in typed arrays, and a PDF of three kilobytes can unpack to several gigabytes.
 *
 * Two looks are needed: from a timer for what is unpacked in turns of the event loop, and from the constructors for
 * parsers that never give the loop a turn.
 *
 * @param most bytes
 * @param onExceeded called each time that more is asked for; the request itself then fails
 */
export function guardMemory(most: number, onExceeded: () => void): void {
  let sinceLook = 0;
  const ask = (bytes: number) => {
    sinceLook += bytes;
    if (sinceLook < STEP) return;
    sinceLook = 0;
    if (process.memoryUsage().arrayBuffers + bytes <= most) return;
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
    watch(name, ask);
  }
  setInterval(() => {
    if (process.memoryUsage().arrayBuffers > most) onExceeded();
  }, INTERVAL).unref();
}

function watch(
  name: 'ArrayBuffer' | 'Uint8Array' | 'Uint8ClampedArray' | 'Uint16Array' | 'Uint32Array',
  ask: (bytes: number) => void,
): void {
  const original = globalThis[name];
  const unit = 'BYTES_PER_ELEMENT' in original ? original.BYTES_PER_ELEMENT : 1;
  const watched: unknown = new Proxy(original, {
    construct(target, parameters: unknown[], newTarget) {
      if (typeof parameters[0] === 'number') ask(parameters[0] * unit);
      return Reflect.construct(target, parameters, newTarget === watched ? target : newTarget) as object;
    },
  });
  Object.defineProperty(globalThis, name, { value: watched, configurable: true, writable: true });
}
