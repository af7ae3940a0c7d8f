/** A file whose bytes are fetched only when they are needed. */
export interface FileSource {
  /** The caller's label. */
  readonly name: string;
  /** The type that the caller declares. */
  readonly mimeType: string;
  /** Bytes. */
  readonly size: number;
  /**
   * Fetches the bytes from offset `start` up to, not including, `end`; both are between 0 and `size`.
   *
   * @throws {ReadingStopped} if the time for this file is over
   */
  read(start: number, end: number): Promise<Uint8Array>;
  /**
   * Must be called again and again by what takes long without reading, such as unpacking.
   *
   * @throws {ReadingStopped} if the time for this file is over
   */
  checkTime(): void;
}

/** Bytes of one request: large enough that requests cost little, small enough that several fit into memory. */
const CHUNK = 256 * 1024;

/** Bytes at the beginning of a file that decide what the file is. */
const HEAD = 64 * 1024;

/** Reads the first 64 KiB of a file, or all of a smaller one. */
export function headOf(file: FileSource): Promise<Uint8Array> {
  return file.read(0, Math.min(file.size, HEAD));
}

/** A file inside another one, which has been unpacked. */
export class MemoryFile implements FileSource {
  readonly size: number;

  /** @param outer the file that it comes from, whose time it shares */
  constructor(
    readonly name: string,
    private readonly content: Uint8Array,
    private readonly outer: FileSource,
    readonly mimeType = '',
  ) {
    this.size = content.length;
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    this.checkTime();
    return this.content.subarray(start, end);
  }

  checkTime(): void {
    this.outer.checkTime();
  }
}

/** All bytes of what is not larger than `most`; undefined if it is. */
export async function wholeOf(
  chunks: AsyncIterable<Uint8Array>,
  most: number,
): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > most) return undefined;
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

/**
 * Reads a range of a file in chunks, one chunk ahead of the reader.
 *
 * @param start offset of the first byte, default 0
 * @param end offset after the last byte, default the file's size
 */
export async function* bytesOf(file: FileSource, start = 0, end = file.size): AsyncGenerator<Uint8Array> {
  let offset = start;
  const readNext = () => {
    if (offset >= end) return undefined;
    const from = offset;
    offset = Math.min(end, from + CHUNK);
    const chunk = file.read(from, offset);
    // A reader that stops early never awaits this chunk: its rejection must not be unhandled.
    chunk.catch(() => undefined);
    return chunk;
  };
  let ahead = readNext();
  while (ahead) {
    const chunk = await ahead;
    ahead = readNext();
    yield chunk;
  }
}
