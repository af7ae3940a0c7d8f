import { readArrow } from './arrow.js';
import { readCalendar } from './calendar.js';
import { readContacts } from './contacts.js';
import { readDbase } from './dbase.js';
import type { FileBytes } from './file-bytes.js';
import { readFits } from './fits.js';
import { readNetcdf } from './netcdf.js';
import { readNumpy } from './numpy.js';
import type { ReadFile } from './read-table.js';
import { readSas } from './sas.js';
import { readShapes } from './shapes.js';
import { readXls } from './xls.js';

export type { FileBytes } from './file-bytes.js';
export type { ReadFile, ReadTable } from './read-table.js';
export { UnreadableTableFile } from './unreadable-table-file.js';

/** Each reads files of its kind; undefined for others. */
const READERS: ((file: FileBytes, head: Uint8Array) => Promise<ReadFile | undefined>)[] = [
  readXls,
  readArrow,
  readSas,
  readDbase,
  readShapes,
  readFits,
  readNetcdf,
  readNumpy,
  readCalendar,
  readContacts,
];

/**
 * Reads a file of a kind that this package knows; undefined for others.
 *
 * @param head the first 64 KiB
 * @throws {UnreadableTableFile} (sentence for the caller) if it is broken, encrypted or too large
 *
 * @example
 * const found = await readTableFile(file, await file.read(0, Math.min(file.size, 65_536)));
 * for await (const row of found?.tables[0]?.rows([]) ?? []) console.log(row);
 */
export async function readTableFile(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  for (const read of READERS) {
    const found = await read(file, head);
    if (found) return found;
  }
  return undefined;
}
