import type { IncomingHttpHeaders } from 'node:http';
import type { Transform } from 'node:stream';
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  unzipSync,
} from 'node:zlib';

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

/** What removes a compression; undefined for one that the doctor does not know. */
export function decoderOf(encoding: string | undefined): Transform | undefined {
  return encoding === undefined ? undefined : DECODERS[encoding]?.();
}

/** A body without its compression, as far as it came; the body itself if it is not compressed as it claims. */
export function decompressed(body: Buffer, encoding: string | undefined): Buffer {
  try {
    if (encoding === 'gzip' || encoding === 'deflate')
      return unzipSync(body, { finishFlush: constants.Z_SYNC_FLUSH });
    if (encoding === 'br')
      return brotliDecompressSync(body, { finishFlush: constants.BROTLI_OPERATION_FLUSH });
  } catch {
    // Another check says so.
  }
  return body;
}
