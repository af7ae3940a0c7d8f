import { openAsBlob } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { contradicts, isGenericType } from '../contract/media-types.js';
import { refusalOfFiles } from '../contract/refusals.js';
import type { FilePart } from '../ports/agent-handler.js';
import type { ContentFile } from '../ports/file-store.js';

/** Bytes at the beginning of a file that are enough to detect its type. */
export const HEAD_BYTES = 4100;

/** The decoded content of one file part, in memory or in a temporary file. */
export class BodyContent {
  /**
   * @param size bytes
   * @param sha256 of the content, 64 lower-case hexadecimal digits
   * @param source the bytes themselves, or the file that has them, which `discard` removes
   */
  constructor(
    readonly size: number,
    readonly sha256: string,
    private source: Buffer | ContentFile | undefined,
  ) {}

  /**
   * The content as a `File`, which can be read any number of times until `discard`. A content on disk is read as it is
   * consumed, never loaded whole. Reading it after `discard` rejects with a `NotReadableError`.
   *
   * @throws {Error} if the content was discarded
   */
  async file(name: string, mimeType: string): Promise<File> {
    const bytes = this.bytes ?? (await openAsBlob((this.#heldSource() as ContentFile).path));
    return new File([bytes], name, { type: mimeType });
  }

  /**
   * The content, if it is in memory. It stays readable after `discard`, as long as it is referenced.
   *
   * @throws {Error} if the content was discarded
   */
  get bytes(): Buffer | undefined {
    const source = this.#heldSource();
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
    return typeOfHead(await this.#head());
  }

  /** Stands for the content in the JSON of a body. */
  toJSON(): string {
    return this.sha256;
  }

  /** Frees the memory or removes the temporary file. Can be called again. */
  async discard(): Promise<void> {
    const { source } = this;
    this.source = undefined;
    if (source && !Buffer.isBuffer(source)) await source.remove();
  }

  #heldSource(): Buffer | ContentFile {
    if (this.source === undefined) throw new Error('The content was discarded.');
    return this.source;
  }

  async #head(): Promise<Buffer> {
    const source = this.#heldSource();
    if (Buffer.isBuffer(source)) return source.subarray(0, HEAD_BYTES);
    let handle: FileHandle | undefined;
    try {
      handle = await open(source.path);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES));
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      throw refusalOfFiles(error);
    } finally {
      await handle?.close();
    }
  }
}

/**
 * A content as the part that a handler receives.
 *
 * @throws {QueryError} `storage_full` · `unavailable`: the temporary file cannot be read
 */
export async function filePartOf(content: BodyContent, name: string, mimeType: string): Promise<FilePart> {
  const part = { type: 'file', name, mimeType, sha256: content.sha256 } as FilePart;
  const { bytes } = content;
  if (bytes) addFile(part, bytes);
  else part.file = await content.file(name, mimeType);
  // Nothing contradicts such a type.
  if (isGenericType(mimeType)) return part;
  const detected = await content.detectType();
  if (detected !== undefined && contradicts(mimeType, detected)) part.detectedMimeType = detected;
  return part;
}

/** Adds the `File` when it is first read: to make one takes longer than to read the body of a small query. */
function addFile(part: FilePart, bytes: Buffer): void {
  let file: File | undefined;
  Object.defineProperty(part, 'file', {
    enumerable: true,
    configurable: true,
    get: () => (file ??= new File([bytes], part.name, { type: part.mimeType })),
  });
}

/** Loaded with the first file: a service that receives no files does not need it. */
let fileType: Promise<typeof import('file-type/node')> | undefined;

/** The type that the beginning of a content shows, such as `image/png`; undefined if it shows none. */
export async function typeOfHead(head: Buffer): Promise<string | undefined> {
  fileType ??= import('file-type/node');
  const { fileTypeFromBuffer } = await fileType;
  const mime = (await fileTypeFromBuffer(head))?.mime;
  // `file-type` takes the byte order mark of UTF-16LE for the beginning of sound (MPEG-1 layer I with a checksum).
  const isMarkedAsUtf16 = head[0] === 0xff && head[1] === 0xfe;
  return mime === 'audio/mpeg' && isMarkedAsUtf16 ? undefined : mime;
}
