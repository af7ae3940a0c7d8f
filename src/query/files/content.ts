import { openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { refusalOfFiles } from '../contract/refusals.js';
import type { SpoolFile } from './spool.js';

/** Bytes at the beginning of a file that are enough to detect its type. */
export const HEAD_BYTES = 4100;

/** The decoded content of one file part, in memory or in a temporary file. */
export class FileContent {
  /**
   * @param size bytes
   * @param sha256 of the content, 64 lower-case hexadecimal digits
   * @param source the bytes themselves, or the temporary file that has them
   */
  constructor(
    readonly size: number,
    readonly sha256: string,
    private source: Buffer | SpoolFile | undefined,
  ) {}

  /**
   * The content as a `File`, which can be read any number of times until `discard`. A content on disk is read as it is
   * consumed, never loaded whole. Reading it after `discard` rejects with a `NotReadableError`.
   *
   * @throws {Error} if the content was discarded
   */
  async file(name: string, mimeType: string): Promise<File> {
    const bytes = this.bytes ?? (await openAsBlob((this.heldSource() as SpoolFile).path));
    return new File([bytes], name, { type: mimeType });
  }

  /**
   * The content, if it is in memory. It stays readable after `discard`, as long as it is referenced.
   *
   * @throws {Error} if the content was discarded
   */
  get bytes(): Buffer | undefined {
    const source = this.heldSource();
    return Buffer.isBuffer(source) ? source : undefined;
  }

  /**
   * Detects the type of the content by its first 4,100 bytes.
   *
   * @returns a type such as `image/png`; undefined if the bytes do not show one
   * @throws {QueryError} `storage_full` · `unavailable`: the temporary file cannot be read
   * @throws {Error} if the content was discarded
   */
  async detectType(): Promise<string | undefined> {
    return typeOfHead(await this.head());
  }

  /** Frees the memory or removes the temporary file. Can be called again. */
  async discard(): Promise<void> {
    const { source } = this;
    this.source = undefined;
    if (source && !Buffer.isBuffer(source)) await source.remove();
  }

  private heldSource(): Buffer | SpoolFile {
    if (this.source === undefined) throw new Error('The content was discarded.');
    return this.source;
  }

  private async head(): Promise<Buffer> {
    const source = this.heldSource();
    if (Buffer.isBuffer(source)) return source.subarray(0, HEAD_BYTES);
    try {
      return await headOf(source.path);
    } catch (error) {
      throw refusalOfFiles(error);
    }
  }
}

/** Loaded with the first file: a service that receives no files does not need it. */
let fileType: Promise<typeof import('file-type/node')> | undefined;

/** The type that the beginning of a content shows, such as `image/png`; undefined if it shows none. */
export async function typeOfHead(head: Buffer): Promise<string | undefined> {
  fileType ??= import('file-type/node');
  const { fileTypeFromBuffer } = await fileType;
  const mime = (await fileTypeFromBuffer(head))?.mime;
  return mime === 'audio/mpeg' && isMarkedAsUtf16(head) ? undefined : mime;
}

/** `file-type` takes the byte order mark of UTF-16LE for the beginning of sound (MPEG-1 layer I with a checksum). */
function isMarkedAsUtf16(head: Buffer): boolean {
  return head[0] === 0xff && head[1] === 0xfe;
}

async function headOf(path: string): Promise<Buffer> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
