/** A file whose bytes are fetched when they are needed. */
export interface FileSource {
  /** The caller's label. */
  readonly name: string;
  /** What the caller says that the file is. */
  readonly mimeType: string;
  /** Bytes. */
  readonly size: number;
  /** Fetches the bytes from `start` up to, not including, `end`; both lie between 0 and `size`. */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** Bytes asked for at once: large enough that asking costs little, small enough to hold several. */
const CHUNK = 256 * 1024;

/** Bytes that are looked at to tell what a file is. */
const HEAD = 64 * 1024;

/** Reads the beginning of a file: 64 KiB, or all of a smaller one. */
export function headOf(file: FileSource): Promise<Uint8Array> {
  return file.read(0, Math.min(file.size, HEAD));
}

/**
 * Reads a range of a file chunk by chunk, one chunk ahead of the reader.
 *
 * @param start first byte, default 0
 * @param end byte after the last, default the file's size
 */
export async function* bytesOf(file: FileSource, start = 0, end = file.size): AsyncGenerator<Uint8Array> {
  let position = start;
  const readNext = () => {
    if (position >= end) return undefined;
    const from = position;
    position = Math.min(end, from + CHUNK);
    const chunk = file.read(from, position);
    // A reader that leaves early never awaits the chunk that was read ahead for it.
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
