import type { FileBytes } from '../../packages/more-files/src/file-bytes.js';
import type { ReadFile } from '../../packages/more-files/src/read-table.js';

type Reader = (file: FileBytes, head: Uint8Array) => Promise<ReadFile | undefined>;

/** A file in memory. @param more what is not that of these bytes */
export function fileBytes(bytes: Uint8Array, more: Partial<FileBytes> = {}): FileBytes {
  return {
    name: 'file',
    mimeType: '',
    size: bytes.length,
    read: async (start, end) => bytes.slice(start, end),
    checkTime: () => undefined,
    ...more,
  };
}

/** The only table of a file, and all that is said about it. */
export async function readOne(read: Reader, bytes: Uint8Array, more: Partial<FileBytes> = {}) {
  const found = await read(fileBytes(bytes, more), bytes.subarray(0, 65_536));
  if (!found) throw new Error('The file is of another kind.');
  const [table] = found.tables;
  const rows: (string | null)[][] = [];
  const notes = [...table!.notes];
  for await (const row of table!.rows(notes)) rows.push(row);
  return { title: found.title, facts: found.facts, columns: table!.columns, rows, notes };
}
