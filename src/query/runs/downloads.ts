import { Buffer } from 'node:buffer';
import { fileNotFound } from '../contract/refusals.js';
import type { Files } from '../files/files.js';
import { type Awaitable, bytesIn, type ByteRange } from '../ports/file-store.js';
import type { RunStore } from '../ports/run-store.js';

/** A file that a caller downloads: one of a query, one of an answer, or a text that a page of a session shows cut. */
export interface DownloadedFile {
  name: string;
  mimeType: string;
  /** Bytes. */
  size: number;
  /** SHA-256 of the content, lower-case hexadecimal. */
  sha256: string;
  /** The content is in memory until it is read. Default false. */
  isHeld?: true;
  /**
   * Reads the content.
   *
   * @param range the numbers of the first and the last byte, from 0. Default: all
   * @returns the bytes in order; undefined if the content is no longer kept
   * @throws {QueryError} `unavailable`
   */
  read(range?: ByteRange): Awaitable<AsyncIterable<Uint8Array> | undefined>;
}

/**
 * Finds a file or a long text of a run. A file that is just being kept is waited for.
 *
 * @throws {QueryError} `not_found` · `unavailable`
 */
export async function downloadOf(
  store: RunStore,
  files: Files,
  owner: string,
  runId: string,
  sha256: string,
): Promise<DownloadedFile> {
  const part = await store.part(owner, runId, sha256);
  if (!part) throw fileNotFound();
  if (part.type === 'file') {
    const { name, mimeType, size } = part;
    await files.settled(runId);
    return { name, mimeType, size, sha256, read: (range) => files.read(runId, sha256, range) };
  }
  const bytes = Buffer.from(part.text);
  return {
    name: 'text.txt',
    mimeType: 'text/plain; charset=utf-8',
    size: bytes.length,
    sha256,
    isHeld: true,
    read: (range) => bytesIn(bytes, range),
  };
}
