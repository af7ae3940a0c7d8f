import { Buffer, isUtf8 as isWholeUtf8 } from 'node:buffer';
import { MIMEType, TextDecoder } from 'node:util';
import {
  bareType,
  type FilePart,
  HEAD_BYTES,
  isGenericType,
  isTextType,
  type Query,
  QueryError,
  typeOfHead,
} from '../query/index.js';

/**
 * How many bytes of one file `fileBytes`, `fileText` and `fileDataUrl` read, unless they are told another number: 16 MiB.
 *
 * @example
 * const bytes = await fileBytes(part, 4 * MAX_READ_BYTES);
 */
export const MAX_READ_BYTES = 16 * 1024 * 1024;

/**
 * Reads the whole content of a file.
 *
 * @param maxBytes a larger file is refused. Default 16 MiB
 * @throws {QueryError} `limit_exceeded`: the file is larger
 *
 * @example
 * const pages = await pdfPages(await fileBytes(part));
 */
export async function fileBytes(part: FilePart, maxBytes: number = MAX_READ_BYTES): Promise<Buffer> {
  const { name, file } = part;
  if (file.size <= maxBytes) return Buffer.from(await file.arrayBuffer());
  const detail = `The file ${JSON.stringify(name)} has ${file.size} bytes. The agent reads files of up to ${maxBytes} bytes.`;
  throw new QueryError('limit_exceeded', detail);
}

/**
 * Reads the text of a file: in the encoding that its byte order mark shows, or that its `mimeType` states, or else in UTF-8, or in
 * Windows-1252 if it is not UTF-8. What is no text becomes a text without meaning: ask `isTextFile` before.
 *
 * @param maxBytes a larger file is refused. Default 16 MiB
 * @throws {QueryError} `limit_exceeded`: the file is larger
 *
 * @example
 * if (await isTextFile(part)) prompt.push(`${part.name}:\n${await fileText(part, 100_000)}`);
 */
export async function fileText(part: FilePart, maxBytes: number = MAX_READ_BYTES): Promise<string> {
  const bytes = await fileBytes(part, maxBytes);
  const said = markedEncoding(bytes) ?? statedEncoding(part.mimeType);
  const decoder = said ?? new TextDecoder(isWholeUtf8(bytes) ? 'utf-8' : 'windows-1252');
  // In one piece, Node 20 decodes windows-1252 as ISO-8859-1.
  return decoder.decode(bytes, { stream: true }) + decoder.decode();
}

/**
 * Makes a `data:` URL of a file (RFC 2397), as many models take images. It is a third longer than the file.
 *
 * @param maxBytes a larger file is refused. Default 16 MiB
 * @throws {QueryError} `limit_exceeded`: the file is larger
 *
 * @example
 * if (await isImageFile(part)) content.push({ type: 'image_url', image_url: { url: await fileDataUrl(part) } });
 */
export async function fileDataUrl(part: FilePart, maxBytes: number = MAX_READ_BYTES): Promise<string> {
  const bytes = await fileBytes(part, maxBytes);
  return `data:${await fileType(part)};base64,${bytes.toString('base64')}`;
}

/**
 * Finds the type of a file: that of its bytes where they contradict `mimeType` or where `mimeType` says nothing, such as
 * `application/octet-stream`; otherwise `mimeType`. It reads 4,100 bytes at most.
 *
 * @returns `type/subtype` in lower case, without parameters
 *
 * @example
 * if ((await fileType(part)) === 'application/pdf') yield log(`${part.name} is a PDF`);
 */
export async function fileType({ mimeType, detectedMimeType, file }: FilePart): Promise<string> {
  const declared = bareType(detectedMimeType ?? mimeType);
  if (!isGenericType(declared)) return declared;
  return (await typeOfHead(await headOf(file))) ?? declared;
}

/**
 * Whether a file is an image, by its type: see `fileType`.
 *
 * @example
 * const images = parts.filter((part) => part.type === 'file' && isImageFile(part));
 */
export async function isImageFile(part: FilePart): Promise<boolean> {
  return (await fileType(part)).startsWith('image/');
}

/**
 * Whether a file is text, such as CSV, JSON, XML, Markdown or source code: by its type, and by its first 4,100 bytes, which must
 * not contain binary data.
 *
 * @example
 * const text = (await isTextFile(part)) ? await fileText(part) : undefined;
 */
export async function isTextFile(part: FilePart): Promise<boolean> {
  const type = await fileType(part);
  const isUnknown = isGenericType(type);
  if (!isUnknown && !isTextType(type)) return false;
  const head = await headOf(part.file);
  if (markedEncoding(head) || statedEncoding(part.mimeType)) return true;
  return !head.includes(0) && (isTextType(type) || isUtf8(head));
}

/**
 * The newest text of a query: that of its last part of the type `text`.
 *
 * @returns an empty string if the query has no text
 *
 * @example
 * const question = newestText(query);
 */
export function newestText({ parts }: Pick<Query<object>, 'parts'>): string {
  return parts.findLast((part) => part.type === 'text')?.text ?? '';
}

async function headOf(file: File): Promise<Buffer> {
  return Buffer.from(await file.slice(0, HEAD_BYTES).arrayBuffer());
}

/** The encoding that a byte order mark shows (WHATWG Encoding §6). */
function markedEncoding(bytes: Buffer): TextDecoder | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be');
  return undefined;
}

/** The encoding that the parameter `charset` of a media type states, if it is a known one other than UTF-8. */
function statedEncoding(mimeType: string): TextDecoder | undefined {
  try {
    const decoder = new TextDecoder(new MIMEType(mimeType).params.get('charset') ?? 'utf-8');
    return decoder.encoding === 'utf-8' ? undefined : decoder;
  } catch {
    return undefined;
  }
}

function isUtf8(head: Buffer): boolean {
  // A character may be cut at the end of the head.
  const isCut = head.length === HEAD_BYTES;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: isCut });
    return true;
  } catch {
    return false;
  }
}
