/** A value; or a promise of it, if the store must wait for it. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Whether a value must be waited for. Hosts also return promises of other libraries and of other realms, which are no instances
 * of `Promise` here (ECMA-262 §27.2: a thenable is what `await` waits for).
 */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** A part of a content: the numbers of its first and its last byte, from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A content as a file of this machine. It can be read until it is removed, also when its store does not keep it any more. */
export interface ContentFile {
  readonly path: string;
  /** Can be called again. */
  remove(): Promise<void>;
}

/** Those of some bytes that are in a range, as `FileStore.read` returns them. */
export async function* bytesIn(bytes: Uint8Array, range?: ByteRange): AsyncIterable<Uint8Array> {
  yield range ? bytes.subarray(range.start, range.end + 1) : bytes;
}

/**
 * The contents of files of queries and answers, by digest: for callers who download them, for later turns of the session, and
 * for another process that executes a waiting run. A content is kept as long as a run or a turn refers to it, within the limits
 * of the store. The run store, of which this is a part, knows when that ends.
 *
 * @example
 * class MyRunStore extends RunStore {
 *   readonly files: FileStore = new MyFileStore();
 *   // …
 * }
 */
export abstract class FileStore {
  /**
   * Keeps a content for a run. It can be read when this has resolved.
   *
   * @param sha256 the digest of the content, lower-case hexadecimal
   * @param isAdmitted whether the run was admitted. Otherwise it will be admitted next, or released. Default false
   * @throws {QueryError} `storage_full` · `unavailable`
   */
  abstract keep(runId: string, sha256: string, content: Blob, isAdmitted?: boolean): Awaitable<void>;

  /** Gives up the contents of a run that was not admitted. */
  abstract release(runId: string): Awaitable<void>;

  /**
   * Reads the content of a file of a run or of its turn; undefined if the content is not kept.
   *
   * @param range which bytes. Default: all. A content without bytes has no range
   * @throws {QueryError} `unavailable`
   */
  abstract read(
    runId: string,
    sha256: string,
    range?: ByteRange,
  ): Awaitable<AsyncIterable<Uint8Array> | undefined>;

  /**
   * Opens what `read` reads as a file, without a copy. A store without this method is read.
   *
   * @returns undefined if the content is not kept, or this one must be read
   * @throws {QueryError} `unavailable`
   */
  open?(runId: string, sha256: string): Awaitable<ContentFile | undefined>;
}
