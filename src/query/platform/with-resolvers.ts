/** A promise, and what settles it. Nobody need wait for it when it rejects. `Promise.withResolvers` needs Node 22. */
export function withResolvers<T>() {
  let settlers!: { resolve: (value: T) => void; reject: (reason: unknown) => void };
  const promise = new Promise<T>((resolve, reject) => (settlers = { resolve, reject }));
  promise.catch(() => undefined);
  return { promise, ...settlers };
}
