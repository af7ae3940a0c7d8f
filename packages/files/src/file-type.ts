import type { FileTypeResult } from 'file-type';

/**
 * What the bytes at the beginning of a file say that it is. A process that only has texts does not load the library, which takes
 * a quarter of its start.
 */
export async function fileTypeOf(head: Uint8Array): Promise<FileTypeResult | undefined> {
  const { fileTypeFromBuffer } = await import('file-type');
  return fileTypeFromBuffer(head);
}
