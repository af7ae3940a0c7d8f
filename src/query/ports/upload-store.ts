import type { TurnFile } from 'nest-agent-query-client';
import type { Awaitable, ContentFile } from './file-store.js';

/**
 * How long a file is kept that no query uses, in milliseconds.
 *
 * @example
 * const expiresAt = Date.now() + UPLOAD_MS;
 */
export const UPLOAD_MS = 60 * 60_000;

/** A content that its owner has sent. */
export interface SentContent {
  /** Bytes. */
  size: number;
  /** Reads the content. The iteration throws if the content is removed during it. */
  read(): AsyncIterable<Uint8Array>;
  /** See `FileStore.open`. */
  open?(): Awaitable<ContentFile | undefined>;
}

/**
 * Keeps files that their owners send before the query that uses them, as a part of a `RunStore`: a capability. The contents are
 * those of `RunStore.files`: a content stays as long as a run, a turn or an upload uses it.
 *
 * Whether another owner has a content makes no difference that a caller can notice, neither in what is returned nor in what is
 * written before it is returned.
 *
 * @example
 * class MyRunStore extends RunStore {
 *   override readonly uploads: UploadStore = new MyUploadStore();
 *   // …
 * }
 */
export abstract class UploadStore {
  /**
   * Keeps a content for `UPLOAD_MS` from now on, also if the owner has sent it before.
   *
   * @param maxBytes how many bytes the owner may have in all uploads that no run and no turn of the owner uses
   * @returns when it expires, in milliseconds since the epoch
   * @throws {QueryError} `rate_limited`: there would be more bytes · `storage_full` · `unavailable`
   */
  abstract keep(owner: string, file: TurnFile, content: Blob, maxBytes: number): Awaitable<number>;

  /** Returns how many bytes an owner has in uploads that no run and no turn of the owner uses. */
  abstract unusedBytes(owner: string): Awaitable<number>;

  /**
   * Returns a content that an owner has sent: with an upload that has not expired, with a query, or one of an answer. Undefined if
   * the owner has none with this digest, or it is no longer kept.
   */
  abstract find(owner: string, sha256: string): Awaitable<SentContent | undefined>;

  /** Erases all uploads of an owner. A run or a turn that uses one keeps its content. Returns how many there were. */
  abstract erase(owner: string): Awaitable<number>;
}
