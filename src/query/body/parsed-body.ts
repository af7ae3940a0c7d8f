import { Base64Decoder, type Base64Fault } from './base64-decoder.js';
import type { Contents, FileContent } from '../files/contents.js';
import { limitExceeded, type BodyLimits } from './limits.js';

/** Characters decoded in one step: at most three bytes each in UTF-8, and never more than 64 KiB of them. */
const STEP_CHARACTERS = 16 * 1024;

/**
 * Takes the contents out of a body that was parsed already.
 *
 * @param value is left as it is
 * @returns a copy with contents in place of the `base64` of file parts, and those contents
 * @throws QueryError `limit_exceeded`
 */
export async function takeParsed(
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
  const bare = parts.map((part) => withoutContent(part));
  checkSize({ ...value, parts: bare }, limits);
  bare.forEach((part, index) => checkText(part, index, limits));

  const kept: FileContent[] = [];
  for (const [index, part] of parts.entries()) {
    if (!hasContent(part) || part['type'] !== 'file') continue;
    const content = await decode(part.base64, index, contents);
    if ('size' in content) kept.push(content);
    (bare[index] as Record<string, unknown>)['base64'] = content;
  }
  return { value: { ...value, parts: bare }, contents: kept };
}

async function decode(text: string, part: number, contents: Contents): Promise<FileContent | Base64Fault> {
  const writer = contents.begin(part);
  const decoder = new Base64Decoder(writer);
  for (let at = 0; at < text.length && !decoder.fault; at += STEP_CHARACTERS) {
    // UTF-8, in which no other character can be taken for one of the alphabet.
    const bytes = Buffer.from(text.slice(at, at + STEP_CHARACTERS));
    decoder.decode(bytes, 0, bytes.length);
    if (contents.congested) await contents.settled();
  }
  decoder.end();
  if (!decoder.fault) return writer.finish();
  writer.discard();
  return decoder.fault;
}

/** A copy of the part whose `base64` is empty in a file, and absent in any other part. */
function withoutContent(part: unknown): unknown {
  if (!hasContent(part)) return part;
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

function checkSize(value: unknown, limits: BodyLimits): void {
  let left = limits.documentBytes;
  const take = (bytes: number) => {
    left -= bytes;
    if (left < 0) throw limitExceeded('documentBytes', limits.documentBytes);
  };
  const visit = (inner: unknown, depth: number): void => {
    if (typeof inner === 'string') return take(Buffer.byteLength(inner) + 2);
    if (typeof inner !== 'object' || inner === null) return take(String(inner).length);
    if (depth >= limits.depth) throw limitExceeded('depth', limits.depth);
    const members = Array.isArray(inner) ? (inner as unknown[]) : Object.entries(inner);
    // Its brackets, and a comma between any two.
    take(Math.max(2, members.length + 1));
    if (Array.isArray(inner)) return inner.forEach((element) => visit(element, depth + 1));
    for (const [name, member] of members as [string, unknown][]) {
      take(Buffer.byteLength(name) + 3);
      visit(member, depth + 1);
    }
  };
  visit(value, 0);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasContent(part: unknown): part is Record<string, unknown> & { base64: string } {
  return isObject(part) && typeof part['base64'] === 'string';
}
