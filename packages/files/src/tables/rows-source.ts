import { SAMPLE } from './delimited-text.js';
import { SmallTable } from './small-table.js';
import { checkWidth } from './table.js';
import type { DelimitedTable, TableSource } from './table-source.js';
import type { Workspace } from './workspace.js';

/** Cells as texts; null if a value is missing. */
export type TextRows = AsyncIterable<(string | null)[]>;

/** Gives the rows from the beginning each time that it is called. @param notes gets sentences about them at their end */
type ReadRows = (notes: string[]) => TextRows;

/**
 * A table whose rows a reader of its format gives.
 *
 * @param names of the columns, if they are not in the first row
 */
export function rowsSource(sheet: string | undefined, rows: ReadRows, names?: string[]): TableSource {
  return {
    sheet,
    small: () => smallTable(rows, names),
    write: (workspace) => writeRows(workspace, rows, names),
  };
}

async function smallTable(rows: ReadRows, names: string[] | undefined): Promise<SmallTable | undefined> {
  const notes: string[] = [];
  const kept: string[][] = [];
  let width = names?.length ?? 1;
  let length = 0;
  for await (const row of rows(notes)) {
    width = Math.max(width, row.length);
    kept.push(row.map((cell) => withLineFeeds(cell ?? '')));
    length += row.reduce((sum, cell) => sum + (cell?.length ?? 0) + 1, 0);
    if (length > SAMPLE) return undefined;
  }
  return SmallTable.of(kept, width, names, notes, undefined);
}

/** Rows as delimited text, in which an empty cell differs from an empty text. */
async function writeRows(workspace: Workspace, rows: ReadRows, names?: string[]): Promise<DelimitedTable> {
  const notes: string[] = [];
  let width = names?.length ?? 1;
  async function* lines(): AsyncGenerator<string> {
    let text = '';
    for await (const row of rows(notes)) {
      width = Math.max(width, row.length);
      checkWidth(width);
      // The engine takes an empty line for no row.
      text += `${row.map(quoted).join(',') || '""'}\n`;
      if (text.length < SAMPLE) continue;
      yield text;
      text = '';
    }
    yield text;
  }
  const path = await workspace.write(lines());
  const read = { path, width, notes, ...(names && { names }) };
  return { format: 'delimited', delimiter: ',', quote: '"', encoding: undefined, ...read };
}

function quoted(cell: string | null): string {
  return cell === null ? '' : `"${withLineFeeds(cell.replaceAll('"', '""'))}"`;
}

function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}
