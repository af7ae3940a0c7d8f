import { Buffer } from 'node:buffer';
import { type Envelope, file } from 'nest-agent-query';
import { fileName } from 'nest-agent-query-adapters';

/** A file that an agent or a tool has made. */
export interface OutputFile {
  envelope: Envelope;
  /** What stands for the file in the result of a tool. */
  description: { type: 'file'; name: string; mimeType: string };
}

/**
 * Makes the envelope of a file.
 *
 * @param data a data URL, base64, bytes, or an object that has one of these as `data`
 * @param mimeType the type of a file that does not state one
 * @param baseName the name of a file that has none, without an extension
 * @returns undefined if the content is elsewhere, such as behind a URL or an id of the provider
 */
export function outputFile(
  data: unknown,
  mimeType: string,
  baseName: string,
  filename?: string,
): OutputFile | undefined {
  if (data instanceof Uint8Array) return made(data, mimeType, fileName(mimeType, filename, baseName));
  if (typeof data === 'object' && data !== null) {
    const { data: content, mediaType, filename: ownName } = data as Record<string, unknown>;
    if (typeof content === 'object' && !(content instanceof Uint8Array)) return undefined;
    const type = typeof mediaType === 'string' ? mediaType : mimeType;
    return outputFile(content, type, baseName, typeof ownName === 'string' ? ownName : filename);
  }
  if (typeof data !== 'string') return undefined;
  const [start, type] = /^data:([^;,]*)(?:;[^,]*)?;base64,/.exec(data) ?? [];
  if (start === undefined && /^\w+:/.test(data)) return undefined;
  const bytes = Buffer.from(data.slice(start?.length ?? 0), 'base64');
  return outputFile(bytes, type || mimeType, baseName, filename);
}

function made(content: Uint8Array, mimeType: string, name: string): OutputFile {
  return {
    envelope: file({ name, mimeType, content }),
    description: { type: 'file', name, mimeType },
  };
}
