import { code, count, moreOf } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import type { Findings } from './findings.js';
import { relatedPart, relationshipsOf } from './relationships.js';
import { readCells, readFirstRows, unescaped } from './sheet.js';
import type { SheetCell, SheetRows } from './sheet.js';
import { numberFormats, shownNumber } from './sheet-dates.js';
import type { NumberFormat } from './sheet-dates.js';
import { errorNote, HIDDEN, LOST, NOT_COMPUTED } from './sheet-notes.js';
import type { SheetNotes } from './sheet-notes.js';
import { previewOf, SHOWN_COLUMNS, SHOWN_ROWS } from './sheet-preview.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** Sheets whose first rows are shown, sheets whose size is found, and sheets that are counted, at most. */
const SHOWN_SHEETS = 5;
const MEASURED_SHEETS = 30;
const MAX_SHEETS = 5000;
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

/** What cells refer to: the shared texts, and the forms of styles. */
export interface CellValues {
  strings: ReadonlyMap<number, string>;
  formats: ReadonlyMap<number, NumberFormat>;
  from1904: boolean;
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
  // Only texts that are shown are kept: a workbook may contain millions.
  const texts = previews.flat(2).filter((cell) => cell?.type === 's');
  const wanted = new Set(texts.map((cell) => Number(cell!.value)));
  const strings = await readSharedStrings(zip, main, wanted);
  const values = { strings, formats: await numberFormats(zip, main), from1904 };
  const show = (cell: SheetCell | undefined) => {
    const text = textOfCell(cell, values);
    if (text === null) return '';
    return cell!.type === 'b' ? text : code(text, 40);
  };

  for (const [index, { name, entry, hidden }] of sheets.slice(0, MEASURED_SHEETS).entries()) {
    const heads = `\n\nSheet ${code(name, 40)}`;
    const known = `${heads}${hidden ? ' (hidden)' : ''}:`;
    if (entry === undefined) {
      yield `${known} its part is missing in this file.`;
      continue;
    }
    const rows = (previews[index] ?? []).map((row) => Array.from(row, show));
    const isLarge = zip.sizeOf(entry) > LARGE;
    if (isLarge) yield `${known}${previewOf(rows)}`;
    // The extent is that of the values, not the one that the file states. It is known also where reading stops.
    const extent = { rows: 0, columns: 0 };
    const stopped = await untilStopped(() =>
      readCells(zip.read(entry), (_cell, row, column) => {
        if (row > extent.rows) extent.rows = row;
        if (column > extent.columns) extent.columns = column;
      }),
    );
    const size = `${stopped ? 'at least ' : ''}${count(extent.rows, 'row')} × ${count(extent.columns, 'column')}.`;
    yield isLarge ? `${heads} has ${size}` : `${known} ${size}${previewOf(rows, extent)}`;
    if (stopped) throw stopped;
  }
  yield moreOf([sheets.length - MEASURED_SHEETS, 'sheet']);
}

/**
 * The text of a cell as it is in a table; null if it has none.
 *
 * @param notes if given, an error is a missing value, and counted
 */
export function textOfCell(
  cell: SheetCell | undefined,
  { strings, formats, from1904 }: CellValues,
  notes?: SheetNotes,
): string | null {
  if (!cell) return null;
  const { type, value, style } = cell;
  if (cell.isHidden) notes?.add(HIDDEN);
  if (type === 'formula' || type === 'e') {
    notes?.add(type === 'e' ? errorNote(value) : NOT_COMPUTED);
    return notes ? null : value || '(formula)';
  }
  if (type === 's') {
    const text = strings.get(Number(value));
    if (text === undefined) notes?.add(LOST);
    return text || null;
  }
  if (type === 'b') return /^(1|true)$/.test(value) ? 'TRUE' : 'FALSE';
  return type === 'n' ? shownNumber(value, formats.get(style), from1904) : value;
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
        name: unescaped(attributes['name'] ?? ''),
        entry: entry !== undefined && zip.has(entry) ? entry : undefined,
        hidden: (attributes['state'] ?? 'visible') !== 'visible',
      });
    },
  });
  return { sheets, from1904 };
}

/**
 * Reads the texts to which cells refer by number.
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
  let text = '';
  let inText = false;
  let inReading = false;
  await readXml(zip.read(await relatedPart(zip, main, 'sharedStrings')), {
    open(name) {
      if (name === 'si') index += 1;
      // A phonetic reading is next to the text and is not part of it.
      if (name === 'rPh') inReading = true;
      inText = name === 't' && !inReading;
    },
    text(piece) {
      if (inText && text.length < longest) text += piece.slice(0, longest);
    },
    close(name) {
      inText = false;
      if (name === 'rPh') inReading = false;
      if (name !== 'si') return;
      if (!wanted || wanted.has(index)) strings.set(index, unescaped(text));
      text = '';
    },
    isEnough: () => index > last,
  });
  return strings;
}
