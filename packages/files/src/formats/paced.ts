/**
 * What a reader finds in chunks, no faster than it is taken, although the reader takes all chunks.
 *
 * @param take what was found since the last call. It is called after each chunk, and when the reader is at its end
 */
export async function* paced<T>(
  chunks: AsyncGenerator<Uint8Array>,
  read: (chunks: AsyncIterable<Uint8Array>) => Promise<void>,
  take: (isEnd: boolean) => T[],
): AsyncGenerator<T, void, undefined> {
  let proceed: (() => void) | undefined;
  let worked!: (isLast: boolean) => void;
  let turn = new Promise<boolean>((resolve) => (worked = resolve));
  async function* passed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      yield chunk;
      await new Promise<void>((resolve) => {
        proceed = resolve;
        worked(false);
      });
    }
  }
  const reading = read(passed()).then(() => worked(true));
  reading.catch(() => worked(true));
  try {
    while (!(await turn)) {
      yield* take(false);
      turn = new Promise<boolean>((resolve) => (worked = resolve));
      proceed?.();
    }
    await reading;
    yield* take(true);
  } finally {
    // The caller may need no more.
    await chunks.return(undefined);
  }
}
