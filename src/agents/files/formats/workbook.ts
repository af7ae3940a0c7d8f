import { code, count, table } from '../markdown.js';
import type { Description } from './description.js';
import { relationshipsOf } from './relationships.js';
import { readSheet } from './sheet.js';
import type { SheetCell, SheetContent } from './sheet.js';
import { dateFormats, toIsoDate } from './sheet-dates.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** Sheets whose first rows are shown, sheets whose size is found, and sheets that are counted, at most. */
const SHOWN_SHEETS = 5;
const MEASURED_SHEETS = 30;
const MAX_SHEETS = 5000;
const SHOWN_COLUMNS = 8;

const PART = 'xl/workbook.xml';

interface Sheet {
  name: string;
  entry: string | undefined;
  hidden: boolean;
}

/** Describes an Excel workbook (ECMA-376 SpreadsheetML): sheets, their extent and first rows. */
export async function describeWorkbook(zip: ZipArchive): Promise<Description> {
  const { sheets, from1904 } = await readWorkbook(zip);
  const measured: { sheet: Sheet; content: SheetContent }[] = [];
  for (const sheet of sheets.slice(0, MEASURED_SHEETS)) {
    const rows = measured.length < SHOWN_SHEETS ? 6 : 0;
    measured.push({
      sheet,
      content: await readSheet(sheet.entry ? zip.read(sheet.entry) : none(), rows, SHOWN_COLUMNS),
    });
  }
  const cells = measured.flatMap(({ content }) => content.first.flat());
  const strings = await sharedStrings(zip, cells);
  const dates = await dateFormats(zip);

  const show = (cell: SheetCell | undefined): string => {
    if (!cell || cell.value === '') return '';
    if (cell.type === 's') return code(strings.get(Number(cell.value)) ?? '', 40);
    if (cell.type === 'b') return cell.value === '1' ? 'TRUE' : 'FALSE';
    const serial = Number(cell.value);
    if (cell.type === 'n' && dates.has(cell.style))
      return code(toIsoDate(serial, from1904) ?? cell.value, 40);
    return code(cell.value, 40);
  };
  const sections = measured.map(({ sheet, content }) => {
    const hidden = sheet.hidden ? ' (hidden)' : '';
    const heading = `Sheet ${code(sheet.name, 40)}${hidden}: ${count(content.rows, 'row')} × ${count(content.columns, 'column')}.`;
    const [head, ...rows] = content.first;
    if (!head) return heading;
    const width = Math.min(content.columns, SHOWN_COLUMNS);
    const line = (row: (SheetCell | undefined)[]) =>
      Array.from({ length: width }, (_, index) => show(row[index]));
    return `${heading}\n\n${table(line(head), rows.map(line))}`;
  });
  if (sheets.length > MEASURED_SHEETS)
    sections.push(`(${count(sheets.length - MEASURED_SHEETS, 'more sheet')}.)`);
  return {
    title: 'Excel workbook',
    body: [`${count(sheets.length, 'sheet')}.`, ...sections].join('\n\n'),
  };
}

async function readWorkbook(zip: ZipArchive): Promise<{ sheets: Sheet[]; from1904: boolean }> {
  const targets = await relationshipsOf(zip, PART);
  const sheets: Sheet[] = [];
  let from1904 = false;
  await readXml(zip.read(PART), {
    open(name, attributes) {
      if (name === 'workbookPr') from1904 = /^(1|true)$/.test(attributes['date1904'] ?? '');
      if (name !== 'sheet' || sheets.length >= MAX_SHEETS) return;
      sheets.push({
        name: attributes['name'] ?? '',
        entry: targets.get(attributes['r:id'] ?? ''),
        hidden: (attributes['state'] ?? 'visible') !== 'visible',
      });
    },
  });
  return { sheets, from1904 };
}

/** Cells refer to their texts by number. Only texts that are shown are kept: a workbook may contain millions. */
async function sharedStrings(
  zip: ZipArchive,
  cells: (SheetCell | undefined)[],
): Promise<Map<number, string>> {
  const wanted = new Set(cells.flatMap((cell) => (cell?.type === 's' ? [Number(cell.value)] : [])));
  const strings = new Map<number, string>();
  const entry = [...(await relationshipsOf(zip, PART)).values()].find((target) =>
    /sharedStrings\.xml$/i.test(target),
  );
  if (wanted.size === 0 || entry === undefined) return strings;
  let index = -1;
  let inText = false;
  await readXml(zip.read(entry), {
    open(name) {
      if (name === 'si') index += 1;
      // A phonetic reading is next to the text and is not part of it.
      if (name === 't' || name === 'rPh') inText = name === 't';
    },
    text(text) {
      if (!inText || !wanted.has(index)) return;
      const known = strings.get(index) ?? '';
      if (known.length < 200) strings.set(index, known + text.slice(0, 200));
    },
    close(name) {
      if (name === 't') inText = false;
    },
  });
  return strings;
}

async function* none(): AsyncGenerator<Uint8Array> {}
