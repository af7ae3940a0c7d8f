import { defaultsOf, OPTIONS } from './table.js';

/**
 * The limits of one body. Every limit counts what remains after `Content-Encoding` is undone, and is enforced while the
 * body arrives: a body that exceeds a limit is refused at that byte, never read to its end first.
 */
export interface BodyLimits {
  /** Decoded bytes of one file. Default 268,435,456 (256 MiB). */
  fileBytes: number;
  /**
   * Decoded bytes of all files of a body. Includes files that a later member of the same name replaced. Default
   * 536,870,912 (512 MiB).
   */
  filesBytes: number;
  /** Bytes of UTF-8 in the `text` of one part, after its escapes are decoded. Default 8,388,608 (8 MiB). */
  textBytes: number;
  /**
   * Bytes of all files that are on disk at the same time, of all queries of the process. Above it a query is refused with
   * `storage_full` (507). Default 17,179,869,184 (16 GiB).
   */
  spoolBytes: number;
  /**
   * Bytes of the files of one owner that are in transit in all processes that share the store: from their arrival until their run
   * has ended. Above it a query is refused with `rate_limited` (429). Default Infinity: no limit.
   */
  filesBytesPerOwner: number;
  /** Bytes of the JSON itself: all but the characters inside the `base64` strings of parts. Default 16,777,216 (16 MiB). */
  documentBytes: number;
  /**
   * JSON values: strings, numbers, literals, arrays and objects. The memory of a document depends on their number more than on
   * its bytes. Default 50,000.
   */
  values: number;
  /** Elements of `parts`. Default 1,000. */
  parts: number;
  /** Levels of nested arrays and objects; the outermost is level 1. Default 64. */
  depth: number;
  /** Milliseconds that may pass without a byte from the sender. Default 30,000. */
  idleMs: number;
  /** A file up to this size in bytes is kept in memory; a larger one is written to disk. Default 65,536 (64 KiB). */
  memoryBytes: number;
}

/**
 * The defaults of `limits`.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, limits: { fileBytes: DEFAULT_BODY_LIMITS.fileBytes / 4 } })
 */
export const DEFAULT_BODY_LIMITS: Readonly<BodyLimits> = Object.freeze(defaultsOf(OPTIONS.limits));
