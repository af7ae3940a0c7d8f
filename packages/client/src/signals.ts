/** @returns what the promise resolves to @throws the reason of `signal`, if it aborts before */
export function unlessAborted<T>(promise: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal!.reason as Error);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    void Promise.resolve(promise)
      .then(resolve, reject)
      .finally(() => signal?.removeEventListener('abort', abort));
  });
}

/** A signal that aborts with either. */
export function either(signal: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return signal ? AbortSignal.any([signal, other]) : other;
}
