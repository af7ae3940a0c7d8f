import { Base64Decoder, type Base64Fault } from './base64-decoder.js';
import { limitExceeded } from '../contract/refusals.js';
import { FileContent } from '../files/content.js';
import type { Contents } from '../files/contents.js';
import type { BodyLimits } from '../options/body-limits.js';

/** Characters decoded in one step: at most three bytes each in UTF-8, and never more than 64 KiB of them. */
const STEP_CHARACTERS = 16 * 1024;

/**
 * Decodes the files of a body that the host has already parsed.
 *
 * @param value what the host's parser returned; it is not changed
 * @returns a copy with contents in the places of the `base64` of file parts, and those contents
 * @throws {QueryError} `limit_exceeded` · `storage_full`
 */
export async function decodeParsed(
  value: unknown,
  contents: Contents,
): Promise<{ value: unknown; contents: FileContent[] }> {
  const { limits } = contents;
  if (!isObject(value) || !Array.isArray(value['parts'])) {
    checkSize(value, limits);
    return { value, contents: [] };
  }
  const parts = value['parts'] as unknown[];
  if (parts.length > limits.parts) throw limitExceeded('parts', limits.parts, limits.parts);
  const copies = parts.map((part) => withoutContent(part));
  checkSize({ ...value, parts: copies }, limits);
  copies.forEach((part, index) => checkText(part, index, limits));

  const decoded: FileContent[] = [];
  for (const [index, part] of parts.entries()) {
    if (!hasBase64(part) || part['type'] !== 'file') continue;
    const content = await decode(part.base64, index, contents);
    if (content instanceof FileContent) decoded.push(content);
    (copies[index] as Record<string, unknown>)['base64'] = content;
  }
  return { value: { ...value, parts: copies }, contents: decoded };
}

async function decode(text: string, part: number, contents: Contents): Promise<FileContent | Base64Fault> {
  const writer = contents.begin(part);
  const decoder = new Base64Decoder(writer);
  for (let index = 0; index < text.length && !decoder.fault; index += STEP_CHARACTERS) {
    // In UTF-8, no byte of another character looks like a character of the alphabet.
    const bytes = Buffer.from(text.slice(index, index + STEP_CHARACTERS));
    decoder.decode(bytes, 0, bytes.length);
    if (contents.writes.congested) await contents.writes.settled();
  }
  decoder.end();
  if (!decoder.fault) return writer.finish();
  writer.discard();
  return decoder.fault;
}

/** A copy of the part whose `base64` is empty in a file, and absent in any other part. */
function withoutContent(part: unknown): unknown {
  if (!hasBase64(part)) return part;
  const copy: Record<string, unknown> = { ...part, base64: '' };
  if (part['type'] !== 'file') delete copy['base64'];
  return copy;
}

function checkText(part: unknown, index: number, limits: BodyLimits): void {
  if (!isObject(part) || typeof part['text'] !== 'string') return;
  if (Buffer.byteLength(part['text']) > limits.textBytes) {
    throw limitExceeded('textBytes', limits.textBytes, index);
  }
}

/** Checks the depth of a value, and the size of the shortest JSON text that it has. */
function checkSize(value: unknown, limits: BodyLimits): void {
  let remaining = limits.documentBytes;
  const count = (bytes: number) => {
    remaining -= bytes;
    if (remaining < 0) throw limitExceeded('documentBytes', limits.documentBytes);
  };
  let values = 0;
  const visit = (inner: unknown, depth: number): void => {
    if (++values > limits.values) throw limitExceeded('values', limits.values);
    if (typeof inner === 'string') return count(Buffer.byteLength(inner) + 2);
    if (typeof inner !== 'object' || inner === null) return count(String(inner).length);
    if (depth >= limits.depth) throw limitExceeded('depth', limits.depth);
    const members = Array.isArray(inner) ? (inner as unknown[]) : Object.entries(inner);
    // Two brackets, and a comma between two members each.
    count(Math.max(2, members.length + 1));
    if (Array.isArray(inner)) return inner.forEach((element) => visit(element, depth + 1));
    for (const [name, member] of members as [string, unknown][]) {
      count(Buffer.byteLength(name) + 3);
      visit(member, depth + 1);
    }
  };
  visit(value, 0);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasBase64(part: unknown): part is Record<string, unknown> & { base64: string } {
  return isObject(part) && typeof part['base64'] === 'string';
}
