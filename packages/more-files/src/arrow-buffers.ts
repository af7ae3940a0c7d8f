import { CompressionType, compressionRegistry } from 'apache-arrow';
import { ZSTDDecoder } from 'zstddec';
import { unpackLz4Frame } from './lz4-frame.js';

/** Bytes of the length that is before each packed buffer. */
const PREFIX = 8;

/**
 * Makes the library unpack the buffers of record batches.
 *
 * @param checkSize gets how many bytes a batch has so far, before any more are unpacked; throws if they are too many
 */
export async function unpackBuffersWith(checkSize: (bytes: number) => void): Promise<void> {
  const zstd = new ZSTDDecoder();
  await zstd.init();
  /** Of each body of a batch, which all of its buffers are parts of. */
  const sizes = new WeakMap<ArrayBufferLike, number>();
  const register = (type: CompressionType, unpack: (packed: Uint8Array, length: number) => Uint8Array) =>
    compressionRegistry.set(type, {
      decode(packed) {
        const { buffer, byteOffset } = packed;
        const length = Number(new DataView(buffer, byteOffset - PREFIX).getBigInt64(0, true));
        const size = (sizes.get(buffer) ?? buffer.byteLength) + length;
        checkSize(size);
        sizes.set(buffer, size);
        const unpacked = length > 0 ? unpack(packed, length) : new Uint8Array();
        if (unpacked.length !== length) throw new RangeError('A buffer has another length than it says.');
        return unpacked;
      },
    });
  register(CompressionType.ZSTD, (packed, length) => zstd.decode(packed, length));
  register(CompressionType.LZ4_FRAME, unpackLz4Frame);
}
