import { contradicts, isGenericType } from '../contract/media-types.js';
import type { FilePart } from '../ports/agent-handler.js';
import type { FileContent } from './content.js';

/**
 * A content as the part that a handler receives.
 *
 * @throws {QueryError} `storage_full` · `unavailable`: the temporary file cannot be read
 */
export async function filePartOf(content: FileContent, name: string, mimeType: string): Promise<FilePart> {
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
