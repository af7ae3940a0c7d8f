import { code, count, table } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import type { Findings } from './findings.js';
import { relatedPart, relationshipsOf } from './relationships.js';
import { measureSheet, readFirstRows } from './sheet.js';
import type { SheetCell, SheetRows } from './sheet.js';
import { dateFormats, toIsoDate } from './sheet-dates.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** Sheets whose first rows are shown, sheets whose size is found, and sheets that are counted, at most. */
const SHOWN_SHEETS = 5;
const MEASURED_SHEETS = 30;
const MAX_SHEETS = 5000;
const SHOWN_ROWS = 6;
const SHOWN_COLUMNS = 8;
/** Characters of a text that is only shown. */
const SHOWN_TEXT = 200;
/** Bytes above which a sheet takes so long that its first rows are shown before its extent. */
const LARGE = 4 * 1024 * 1024;

/** A sheet of a workbook. */
export interface Sheet {
  name: string;
  /** Undefined if it is missing in the file. */
  entry: string | undefined;
  hidden: boolean;
}

/**
 * Describes an Excel workbook (ECMA-376 SpreadsheetML): sheets, their extent and first rows. The rows of a large sheet come
 * before its extent, which is known only when all of it has been read.
 */
export async function* describeWorkbook(zip: ZipArchive, main: string, heading: string): Findings {
  const { sheets, from1904 } = await readWorkbook(zip, main);
  yield `${heading}${count(sheets.length, 'sheet')}.`;
  const previews: SheetRows[] = [];
  for (const { entry } of sheets.slice(0, SHOWN_SHEETS)) {
    previews.push(entry ? await readFirstRows(zip.read(entry), SHOWN_ROWS, SHOWN_COLUMNS) : []);
  }
  const cells = previews.flat(2);
  const show = shower(await sharedStrings(zip, main, cells), await dateFormats(zip, main), from1904);

  for (const [index, sheet] of sheets.slice(0, MEASURED_SHEETS).entries()) {
    const name = `Sheet ${code(sheet.name, 40)}`;
    if (sheet.entry === undefined) {
      yield `\n\n${name}: its part is missing in this file.`;
      continue;
    }
    const preview = tableOf(previews[index] ?? [], show);
    const isLarge = zip.sizeOf(sheet.entry) > LARGE;
    if (isLarge) yield `\n\n${name}${sheet.hidden ? ' (hidden)' : ''}:${preview}`;
    const extent = { rows: 0, columns: 0 };
    const stopped = await untilStopped(() => measureSheet(zip.read(sheet.entry!), extent));
    const size = `${stopped ? 'at least ' : ''}${count(extent.rows, 'row')} × ${count(extent.columns, 'column')}.`;
    yield isLarge
      ? `\n\n${name} has ${size}`
      : `\n\n${name}${sheet.hidden ? ' (hidden)' : ''}: ${size}${preview}`;
    if (stopped) throw stopped;
  }
  if (sheets.length > MEASURED_SHEETS) yield `\n\n(${count(sheets.length - MEASURED_SHEETS, 'more sheet')}.)`;
}

/** The first rows, whose first is the head of the table; empty if there are none. */
function tableOf(rows: SheetRows, show: (cell: SheetCell | undefined) => string): string {
  const [head, ...others] = rows;
  if (!head) return '';
  const width = Math.max(...rows.map(({ length }) => length));
  const line = (row: SheetRows[number]) => Array.from({ length: width }, (_, index) => show(row[index]));
  return `\n\n${table(line(head), others.map(line))}`;
}

/** The text of a cell as it is in a table; null if it has none. */
export function textOfCell(
  cell: SheetCell | undefined,
  strings: ReadonlyMap<number, string>,
  dates: Set<number>,
  from1904: boolean,
): string | null {
  if (!cell || cell.value === '') return null;
  if (cell.type === 's') return strings.get(Number(cell.value)) ?? null;
  if (cell.type === 'b') return cell.value === '1' ? 'TRUE' : 'FALSE';
  if (cell.type !== 'n' || !dates.has(cell.style)) return cell.value;
  return toIsoDate(Number(cell.value), from1904) ?? cell.value;
}

function shower(strings: Map<number, string>, dates: Set<number>, from1904: boolean) {
  return (cell: SheetCell | undefined): string => {
    const text = textOfCell(cell, strings, dates, from1904);
    if (text === null) return '';
    return cell!.type === 'b' ? text : code(text, 40);
  };
}

/** The sheets of a workbook, and from which day it counts the others. @param main the entry of its main part */
export async function readWorkbook(
  zip: ZipArchive,
  main: string,
): Promise<{ sheets: Sheet[]; from1904: boolean }> {
  const targets = await relationshipsOf(zip, main);
  const sheets: Sheet[] = [];
  let from1904 = false;
  await readXml(zip.read(main), {
    open(name, attributes) {
      if (name === 'workbookPr') from1904 = /^(1|true)$/.test(attributes['date1904'] ?? '');
      if (name !== 'sheet' || sheets.length >= MAX_SHEETS) return;
      const entry = targets.get(attributes['r:id'] ?? '')?.target;
      sheets.push({
        name: attributes['name'] ?? '',
        entry: entry !== undefined && zip.has(entry) ? entry : undefined,
        hidden: (attributes['state'] ?? 'visible') !== 'visible',
      });
    },
  });
  return { sheets, from1904 };
}

/** Cells refer to their texts by number. Only texts that are shown are kept: a workbook may contain millions. */
function sharedStrings(
  zip: ZipArchive,
  main: string,
  cells: (SheetCell | undefined)[],
): Promise<Map<number, string>> {
  const wanted = new Set(cells.flatMap((cell) => (cell?.type === 's' ? [Number(cell.value)] : [])));
  return readSharedStrings(zip, main, wanted);
}

/**
 * Reads the texts to which cells refer.
 *
 * @param wanted their numbers; all of them if left out
 */
export async function readSharedStrings(
  zip: ZipArchive,
  main: string,
  wanted?: Set<number>,
): Promise<Map<number, string>> {
  const strings = new Map<number, string>();
  if (wanted?.size === 0) return strings;
  const last = wanted ? [...wanted].reduce((a, b) => Math.max(a, b)) : Infinity;
  const longest = wanted ? SHOWN_TEXT : Infinity;
  let index = -1;
  let inText = false;
  await readXml(zip.read(await relatedPart(zip, main, 'sharedStrings')), {
    open(name) {
      if (name === 'si') index += 1;
      // A phonetic reading is next to the text and is not part of it.
      if (name === 't' || name === 'rPh') inText = name === 't';
    },
    text(text) {
      if (!inText || (wanted && !wanted.has(index))) return;
      const known = strings.get(index) ?? '';
      if (known.length < longest) strings.set(index, known + text.slice(0, longest));
    },
    close(name) {
      if (name === 't') inText = false;
    },
    isEnough: () => index > last,
  });
  return strings;
}
