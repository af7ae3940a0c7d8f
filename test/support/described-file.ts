import { readFile } from 'node:fs/promises';
import type { FilePart } from '../../src/query/index.js';
import type { FilesHandler } from '../../packages/files/src/index.js';
import { contextOf } from './handler-context.js';

const FIXTURES = new URL('../fixtures/files/', import.meta.url);

/** The content of a file of `test/fixtures/files`. */
export function fixture(name: string): Promise<Buffer> {
  return readFile(new URL(name, FIXTURES));
}

/** What the handler answers about one file, in Markdown. */
export async function describedBy(
  handler: FilesHandler,
  name: string,
  content: string | Uint8Array,
  mimeType = 'application/octet-stream',
): Promise<string> {
  const file = new File([content], name);
  const part: FilePart = { type: 'file', name, mimeType, sha256: '', file };
  let text = '';
  for await (const { type, data } of handler.handle({ parts: [part], kwargs: {} }, contextOf())) {
    if (type === 'message') text += (data as { content: string }).content;
  }
  return text;
}
