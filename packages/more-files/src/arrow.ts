import type { FileBytes } from './file-bytes.js';
import type { ReadFile } from './read-table.js';

const FILE = 'ARROW1';
/** What is before each message of a stream, and then its length. */
const CONTINUATION = 0xffffffff;
const MESSAGE = 8;

/**
 * Reads files of Apache Arrow (Feather 2) and its stream format.
 *
 * @throws {UnreadableTableFile}
 */
export async function readArrow(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  const isFile = Buffer.from(head.subarray(0, FILE.length)).toString('latin1') === FILE;
  if (!isFile && !isStream(file, head)) return undefined;
  const { readArrowTable } = await import('./arrow-table.js');
  return readArrowTable(file, isFile);
}

function isStream(file: FileBytes, head: Uint8Array): boolean {
  if (head.length < MESSAGE * 2) return false;
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  const length = bytes.readInt32LE(4);
  return bytes.readUInt32LE(0) === CONTINUATION && length >= MESSAGE && length <= file.size - MESSAGE;
}
