import { contradicts } from '../contract/media-types.js';
import type { FilePart } from '../ports/agent-handler.js';
import type { FileContent } from './content.js';

/**
 * A content as the part that a handler receives.
 *
 * @param name the caller's label
 * @param mimeType the type that the caller declares
 * @throws {QueryError} `storage_full` · `unavailable`: the temporary file cannot be read
 */
export async function filePartOf(content: FileContent, name: string, mimeType: string): Promise<FilePart> {
  const part: FilePart = {
    type: 'file',
    name,
    mimeType,
    sha256: content.sha256,
    file: await content.file(name, mimeType),
  };
  const detected = await content.detectType();
  if (detected !== undefined && contradicts(mimeType, detected)) part.detectedMimeType = detected;
  return part;
}
