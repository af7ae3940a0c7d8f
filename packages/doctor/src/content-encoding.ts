import type { IncomingHttpHeaders } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** Bytes of a response, and when they came: milliseconds since the request began. */
export interface Piece {
  atMs: number;
  bytes: Buffer;
}

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** The compression that a response claims; undefined without one. */
export function encodingOf(headers: IncomingHttpHeaders = {}): string | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

/**
 * The pieces without their compression: what each of them makes readable. A compression that the doctor does not know stays.
 *
 * @throws what zlib says of bytes that are not compressed so
 */
export async function decoded(pieces: Piece[], encoding: string | undefined): Promise<Piece[]> {
  const decoder = encoding === undefined ? undefined : DECODERS[encoding]?.();
  if (!decoder) return pieces;
  const all: Piece[] = [];
  let readable: Buffer[] = [];
  decoder.on('data', (bytes: Buffer) => readable.push(bytes));
  // After an error zlib does not call back, and says it only once.
  const failed = new Promise<never>((_, reject) => decoder.once('error', reject));
  try {
    for (const { atMs, bytes } of pieces) {
      const written = new Promise<void>((resolve) => decoder.write(bytes, () => setImmediate(resolve)));
      await Promise.race([written, failed]);
      all.push({ atMs, bytes: Buffer.concat(readable) });
      readable = [];
    }
    return all;
  } finally {
    decoder.destroy();
  }
}
