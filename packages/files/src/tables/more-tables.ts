import type { ReadFile, ReadTable } from 'nest-agent-query-more-files';
import { headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { extensionOf } from '../formats/languages.js';
import type { TextSheet } from '../formats/text-sheet.js';
import { UnreadableFile } from '../unreadable-file.js';
import { rowsSource } from './rows-source.js';
import type { TextRows } from './rows-source.js';
import { withoutEmptyColumns } from './sheet-rows.js';
import type { TableSource } from './table-source.js';

/** The namespace of the XML of Excel 2003. */
const WORKBOOK_AS_XML = 'urn:schemas-microsoft-com:office:spreadsheet';
/** How they begin, after a byte order mark in one of three encodings. */
const CALENDAR_OR_CONTACTS = /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*BEGIN:(?:VCALENDAR|VCARD)\s/i;

/** Whether a file that looks like a ZIP archive or a text may be a workbook, a calendar or contacts, of which the package knows more. */
export function isOffered({ name }: { name: string }, head: Uint8Array): boolean {
  // In UTF-16 each second byte is zero.
  const text = Buffer.from(head.subarray(0, 8192)).toString('latin1').replaceAll('\0', '');
  const isWorkbook = extensionOf(name) === 'xls' || text.includes(WORKBOOK_AS_XML);
  return text.startsWith('PK\x03\x04') || isWorkbook || CALENDAR_OR_CONTACTS.test(text);
}

/**
 * What the package `nest-agent-query-more-files` reads of a file; undefined if it does not know the kind, or is not installed.
 *
 * @throws {UnreadableFile} if the file is broken, encrypted or too large
 */
export async function readMore(file: FileSource): Promise<ReadFile | undefined> {
  const readers = await import('nest-agent-query-more-files').catch(undefinedIfMissing);
  return readers?.readTableFile(file, await headOf(file)).catch(unreadable);
}

/** The tables of a file that the package reads; none if there is nothing. One that is not read says why. */
export async function moreTables(file: FileSource): Promise<TableSource[]> {
  try {
    const read = await readMore(file);
    return read ? sourcesOf(read) : [];
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return [
      { ...rowsSource(undefined, noRows), fault: `cannot be read: ${error.message.replace(/\.$/, '')}` },
    ];
  }
}

/** The sheets of a workbook that the package reads; undefined if the file is no such workbook. */
export async function moreSheets(file: FileSource): Promise<TextSheet[] | undefined> {
  const sheets = (await readMore(file))?.tables.filter(({ name, columns }) => name !== undefined && !columns);
  return sheets && sheets.length > 0 ? sheets.map((sheet) => textSheet(sheet, [])) : undefined;
}

/**
 * The text of a file that the package reads: the lines of a calendar or of contacts, and the rows of tables; undefined if there is
 * none. The cells of a table with names of columns have them in front.
 *
 * @param notes gets sentences about how it is read
 */
export async function moreTexts(file: FileSource, notes: Set<string>): Promise<MoreText[] | undefined> {
  const read = await readMore(file);
  if (read?.lines) return [{ rows: () => linesOf(read, notes) }];
  const texts = read?.tables.map((table) => ({ sheet: table.name, rows: () => textRows(table) }));
  return texts?.length ? texts : undefined;
}

/** A part of the text of such a file. */
export interface MoreText {
  sheet?: string | undefined;
  /** Numbers are those of lines if there is no sheet and it is no table. */
  rows: () => AsyncGenerator<{ number: number; text: string; isLine?: boolean }>;
}

async function* linesOf({ lines }: ReadFile, notes: Set<string>): ReturnType<MoreText['rows']> {
  for await (const line of lines!(notes)) yield { ...line, isLine: true };
}

async function* textRows(table: ReadTable): ReturnType<MoreText['rows']> {
  for await (const { number, cells } of textSheet(table, []).rows()) {
    const named = cells.map((cell, at) =>
      cell === null || !table.columns ? cell : `${table.columns[at]}: ${cell}`,
    );
    yield { number, text: named.filter((cell) => cell !== null).join(' | ') };
  }
}

/** The tables of what was read. Those whose first row may be a header are read as sheets are. */
export function sourcesOf({ tables }: ReadFile): TableSource[] {
  return tables.map((table) => {
    const { name, columns } = table;
    async function* rows(notes: string[]): TextRows {
      const found = [...table.notes];
      yield* columns ? rowsOf(table, found) : withoutEmptyColumns(textSheet(table, found), notes);
      notes.push(...found);
    }
    return rowsSource(name, rows, columns);
  });
}

function textSheet(table: ReadTable, notes: string[]): TextSheet {
  return {
    name: table.name ?? '',
    isHidden: false,
    tables: [],
    async *rows() {
      let number = 0;
      for await (const cells of rowsOf(table, notes)) {
        number += 1;
        if (cells.some((cell) => cell !== null)) yield { number, cells };
      }
    },
  };
}

async function* rowsOf(table: ReadTable, notes: string[]): TextRows {
  try {
    yield* table.rows(notes);
  } catch (error) {
    unreadable(error);
  }
}

async function* noRows(): TextRows {}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  // Without `ERR_` where a host's Jest compiles to CommonJS.
  if (!/MODULE_NOT_FOUND$/.test(String(error.code))) throw error;
}

function unreadable(error: unknown): never {
  throw error instanceof Error && error.name === 'UnreadableTableFile'
    ? new UnreadableFile(error.message)
    : error;
}
