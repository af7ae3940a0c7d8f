import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { ifReadable } from '../reading-stopped.js';
import { tableName } from './table-names.js';
import type { TableSource } from './table-source.js';
import { tablesOf } from './tables-of.js';
import type { Workspace } from './workspace.js';

/** A table of a file, and its name in SQL. */
export interface NamedTable {
  name: string;
  file: string;
  /** Bytes of the file. */
  size: number;
  source: TableSource;
}

/** The tables of files, in their order. A file that cannot be read has none. */
export async function catalogOf(
  files: FileSource[],
  limits: FilesLimits,
  workspace: Workspace,
): Promise<NamedTable[]> {
  const tables: NamedTable[] = [];
  const taken = new Set<string>();
  for (const file of files) {
    for (const source of (await ifReadable(tablesOf(file, limits, workspace))) ?? []) {
      const name = tableName(file.name, source.sheet, taken);
      tables.push({ name, file: file.name, size: file.size, source });
    }
  }
  return tables;
}
