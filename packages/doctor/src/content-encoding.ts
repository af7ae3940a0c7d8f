import type { IncomingHttpHeaders } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** Bytes of a response, and when they came: milliseconds since the request began. */
export interface Piece {
  atMs: number;
  bytes: Buffer;
}

/** The service answers the doctor with less. A few bytes of another server could become gigabytes. */
export const MAX_BYTES = 8 * 1024 * 1024;

const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/** The compression that a response claims; undefined without one. */
export function encodingOf(headers: IncomingHttpHeaders = {}): string | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

/**
 * The pieces without their compression: what each of them makes readable, up to about 8 MiB. A compression that the doctor
 * does not know stays.
 *
 * @throws what zlib says of bytes that are not compressed so
 */
export async function decoded(pieces: Piece[], encoding: string | undefined): Promise<Piece[]> {
  const decoder = DECODERS.get(encoding ?? '')?.();
  if (!decoder) return pieces;
  const all: Piece[] = [];
  let readable: Buffer[] = [];
  let length = 0;
  const enough = new Promise<void>((resolve) =>
    decoder.on('data', (bytes: Buffer) => {
      readable.push(bytes);
      if ((length += bytes.length) < MAX_BYTES) return;
      decoder.destroy();
      resolve();
    }),
  );
  // After an error zlib does not call back, and says it only once.
  const failed = new Promise<never>((_, reject) => decoder.once('error', reject));
  try {
    for (const { atMs, bytes } of pieces) {
      const written = new Promise<void>((resolve) => decoder.write(bytes, () => setImmediate(resolve)));
      await Promise.race([written, failed, enough]);
      all.push({ atMs, bytes: Buffer.concat(readable) });
      if (length >= MAX_BYTES) break;
      readable = [];
    }
    return all;
  } finally {
    decoder.destroy();
  }
}
