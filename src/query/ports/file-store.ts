/** A value, or a promise of it where the store has to wait for it. */
export type Awaitable<T> = T | Promise<T>;

/**
 * The contents of files that came with queries: kept by digest, so that a later turn of the session can read them, and
 * so that a run that waits can be executed by another process than the one that admitted it.
 *
 * A content is kept as long as a run that has not ended, or the turn of an ended one, refers to it, unless the store's
 * limits say otherwise. The run store, of which this is a part, knows when that is no longer so.
 */
export abstract class FileStore {
  /**
   * Keeps a content for a run that is about to be admitted. Whoever asks for it is given it once this has resolved.
   *
   * @param sha256 of the content, lower-case hexadecimal
   * @throws {QueryError} `storage_full` · `unavailable`
   */
  abstract keep(runId: string, sha256: string, content: Blob): Awaitable<void>;

  /** A run for which contents were kept was not admitted. */
  abstract release(runId: string): Awaitable<void>;

  /**
   * The content of a file of a run, or of the turn that it has become.
   *
   * @returns its bytes in order, or undefined if it is not kept (any more)
   * @throws {QueryError} `unavailable`
   */
  abstract read(runId: string, sha256: string): Awaitable<AsyncIterable<Uint8Array> | undefined>;
}
