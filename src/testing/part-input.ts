import { createHash } from 'node:crypto';
import { BodyContent, filePartOf, type QueryPart } from '../query/index.js';

/** A file that a test sends or gives to a handler. */
export interface FileInput {
  name: string;
  /** Default: `text/plain` for a string, `application/octet-stream` for bytes. */
  mimeType?: string;
  content: string | Uint8Array;
}

/** One part of a message, as a test writes it: a text, or a file. */
export type PartInput = string | FileInput | File;

/** The parts of a message, in their order; one part need not be in an array. */
export type PartsInput = PartInput | PartInput[];

/** A part as it is sent. */
export type WirePart =
  { type: 'text'; text: string } | { type: 'file'; name: string; mimeType: string; base64: string };

interface NamedBytes {
  name: string;
  mimeType: string;
  bytes: Buffer;
}

/** The inputs as an array. */
export function inputsOf<T>(parts: T | T[]): T[] {
  return Array.isArray(parts) ? parts : [parts];
}

/** A part as it is sent. */
export async function wirePartOf(input: PartInput): Promise<WirePart> {
  if (typeof input === 'string') return { type: 'text', text: input };
  const { name, mimeType, bytes } = await bytesOf(input);
  return { type: 'file', name, mimeType, base64: bytes.toString('base64') };
}

/** A part as a handler receives it, with the digest and the detected type of a file. */
export async function queryPartOf(input: PartInput): Promise<QueryPart> {
  if (typeof input === 'string') return { type: 'text', text: input };
  const { name, mimeType, bytes } = await bytesOf(input);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return filePartOf(new BodyContent(bytes.length, sha256, bytes), name, mimeType);
}

async function bytesOf(input: FileInput | File): Promise<NamedBytes> {
  if (input instanceof File) {
    const bytes = Buffer.from(await input.arrayBuffer());
    return { name: input.name, mimeType: input.type || 'application/octet-stream', bytes };
  }
  const { name, content } = input;
  const { mimeType = typeof content === 'string' ? 'text/plain' : 'application/octet-stream' } = input;
  return { name, mimeType, bytes: Buffer.from(content) };
}
