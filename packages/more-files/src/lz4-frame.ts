const MAGIC = 0x184d2204;
/** Flags of a frame. */
const HAS_DICTIONARY = 0x01;
const HAS_CONTENT_SIZE = 0x08;
const HAS_BLOCK_CHECKSUMS = 0x10;
const VERSION = 0x40;
const VERSION_BITS = 0xc0;
/** The bit of a block's length that says that it is not packed. */
const PLAIN = 0x80000000;
const SHORTEST_MATCH = 4;
const LONG = 15;

/**
 * Unpacks one frame (LZ4 Frame Format 1.6). Checksums are not compared.
 *
 * @param length how many bytes are in it
 * @throws {RangeError} if it is broken, or has another length
 */
export function unpackLz4Frame(packed: Uint8Array, length: number): Uint8Array {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const flags = view.getUint8(4);
  if (view.getUint32(0, true) !== MAGIC || (flags & VERSION_BITS) !== VERSION || flags & HAS_DICTIONARY) {
    throw new RangeError('This is no LZ4 frame.');
  }
  const unpacked = new Uint8Array(length);
  let at = flags & HAS_CONTENT_SIZE ? 15 : 7;
  let end = 0;
  for (let size = view.getUint32(at, true); size !== 0; size = view.getUint32(at, true)) {
    at += 4;
    const bytes = size % PLAIN;
    const block = packed.subarray(at, at + bytes);
    if (block.length < bytes) throw new RangeError('An LZ4 block is cut off.');
    if (size >= PLAIN) unpacked.set(block, end);
    end = size >= PLAIN ? end + bytes : unpackBlock(block, unpacked, end);
    at += flags & HAS_BLOCK_CHECKSUMS ? bytes + 4 : bytes;
  }
  if (end !== length) throw new RangeError('An LZ4 frame has another length than it says.');
  return unpacked;
}

/** Unpacks a block behind the bytes of the blocks before it, which it may refer to. @returns the new end of the bytes */
function unpackBlock(block: Uint8Array, unpacked: Uint8Array, start: number): number {
  let at = 0;
  let end = start;
  const lengthFrom = (bits: number) => {
    let length = bits;
    if (bits < LONG) return length;
    let byte;
    do {
      byte = block[at++] ?? 0;
      length += byte;
    } while (byte === 255);
    return length;
  };
  while (at < block.length) {
    const token = block[at++]!;
    const literals = lengthFrom(token >> 4);
    unpacked.set(block.subarray(at, at + literals), end);
    at += literals;
    end += literals;
    if (at > block.length) throw new RangeError('An LZ4 block is cut off.');
    if (at === block.length) break;
    const from = end - (block[at]! + 256 * block[at + 1]!);
    at += 2;
    const match = lengthFrom(token & LONG) + SHORTEST_MATCH;
    if (!(from >= 0 && from < end) || end + match > unpacked.length) {
      throw new RangeError('An LZ4 block refers to bytes that are not there.');
    }
    copyMatch(unpacked, from, end, match);
    end += match;
  }
  return end;
}

/** Copies bytes that may overlap with their copy: then they repeat. */
function copyMatch(bytes: Uint8Array, from: number, to: number, length: number): void {
  if (from + length <= to) {
    bytes.copyWithin(to, from, from + length);
    return;
  }
  for (let index = 0; index < length; index += 1) bytes[to + index] = bytes[from + index]!;
}
