import { Buffer } from 'node:buffer';
import { type Envelope, file } from 'nest-agent-query';

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
  if (data instanceof Uint8Array) return made(data, mimeType, filename ?? nameOf(baseName, mimeType));
  if (typeof data === 'object' && data !== null) {
    const { data: content, mediaType, filename: ownName } = data as Record<string, unknown>;
    if (typeof content === 'object' && !(content instanceof Uint8Array)) return undefined;
    const type = typeof mediaType === 'string' ? mediaType : mimeType;
    return outputFile(content, type, baseName, typeof ownName === 'string' ? ownName : filename);
  }
  if (typeof data !== 'string') return undefined;
  const [start, type] = /^data:([^;,]*)[^,]*;base64,/.exec(data) ?? [];
  if (start === undefined && /^\w+:/.test(data)) return undefined;
  const bytes = Buffer.from(data.slice(start?.length ?? 0), 'base64');
  return outputFile(bytes, type || mimeType, baseName, filename);
}

function made(content: Uint8Array, mimeType: string, label: string): OutputFile {
  const name = nameFrom(label);
  return {
    envelope: file({ name, mimeType, content }),
    description: { type: 'file', name, mimeType },
  };
}

/** The name has the extension `png` for `image/png`, and `bin` for a type whose name is no extension. */
function nameOf(baseName: string, mimeType: string): string {
  const [, subtype = ''] = mimeType.split(/[/;]/);
  return `${baseName}.${/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : 'bin'}`;
}

/** A tool may give a path, or a name of any length. */
function nameFrom(label: string): string {
  const name = label.replace(/^.*[/\\]/s, '').replace(/\p{Cc}/gu, '_');
  return name !== '' && Buffer.byteLength(name) <= 255 ? name : 'file';
}
