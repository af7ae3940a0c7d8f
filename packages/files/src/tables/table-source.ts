import type { Encoding } from '../formats/code-pages.js';
import type { Table } from './table.js';
import type { Workspace } from './workspace.js';

/** A table of a file. */
export interface TableSource {
  /** The sheet of a workbook, or the table of a database; undefined if the file is one table. */
  sheet: string | undefined;
  /** What the shapes of a layer are, in sentences; absent if the table does not belong to shapes. */
  layer?: string;
  /** Why it cannot be read, as a part of a sentence in Markdown; absent if it can. The other tables of its file can be read. */
  fault?: string;
  /** The table, if it can be described without the engine. */
  small?(): Promise<Table | undefined>;
  /** Writes it to the workspace, where the engine reads it. */
  write(workspace: Workspace): Promise<WrittenTable>;
}

/** A table as it is in the workspace. */
export type WrittenTable = DelimitedTable | { format: 'json' | 'parquet'; path: string; notes: string[] };

/** Delimited text in UTF-8 whose lines end with a line feed. Its values have no types yet. */
export interface DelimitedTable {
  format: 'delimited';
  path: string;
  delimiter: string;
  /** Doubled in a cell. */
  quote: '"' | "'";
  /** Columns; a row that has more is left out, and is counted. */
  width: number;
  /** The names of the columns, if they are not in the first row. */
  names?: string[];
  /** In what the file was encoded; undefined if it is no text file. */
  encoding: Encoding | undefined;
  /** Sentences about the file as it was read. */
  notes: string[];
}
