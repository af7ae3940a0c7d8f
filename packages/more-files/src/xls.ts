import type { ParsingOptions, WorkBook } from '@e965/xlsx';
import { rootStreams } from './compound-file.js';
import type { FileBytes } from './file-bytes.js';
import type { ReadFile } from './read-table.js';
import { sheetTable } from './sheet-table.js';
import { UnreadableTableFile } from './unreadable-table-file.js';

/** Sheets that are tables, at most. */
const MAX_SHEETS = 30;
/** Bytes at the end of a ZIP file in which the names of its entries are looked for. */
const TAIL = 128 * 1024;

/** A kind of workbook. */
interface Kind {
  title: string;
  /** Bytes that the cells may take: SheetJS holds them in memory all at once, each of an XLS in about 700 bytes. */
  largest: number;
  /** Of the cells; those of the file if absent. */
  size?: number;
  /** Whether its texts may be in one of the encodings that Windows had before Unicode. */
  isOld?: boolean;
  /** Whether the file is a text, in an encoding that it names. */
  isText?: boolean;
}

const MEGABYTE = 1_000_000;
const XLS: Kind = { title: 'Excel workbook of 97 to 2003 (XLS)', largest: 4 * MEGABYTE };
const OLD_XLS: Kind = { title: 'Excel workbook of before 97 (XLS)', largest: 4 * MEGABYTE, isOld: true };
const XLSB: Kind = { title: 'Excel binary workbook (XLSB)', largest: 20 * MEGABYTE };
const XML: Kind = { title: 'Excel workbook as XML (2003)', largest: 16 * MEGABYTE, isText: true };
const HTML: Kind = { title: 'Web page with the name of a workbook', largest: 10 * MEGABYTE, isText: true };

/** What SheetJS is not asked for takes no memory. A cell of a web page stays a text, whose meaning its reader finds. */
const OPTIONS: ParsingOptions = {
  dense: true,
  cellFormula: false,
  cellHTML: false,
  cellText: false,
  cellNF: true,
  raw: true,
};

/** Reads workbooks of Excel in its older formats: XLS, XLSB, XML of 2003, and web pages that are named `.xls`. */
export async function readXls(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  const kind = await kindOf(file, head);
  if (!kind) return undefined;
  if ((kind.size ?? file.size) > kind.largest) {
    const most = `${kind.largest / MEGABYTE} MB`;
    throw new UnreadableTableFile(
      `${kind.title}: only workbooks of up to ${most}${kind.size === undefined ? '' : ', unpacked,'} are read. Save it as XLSX or CSV.`,
    );
  }
  const bytes = await file.read(0, file.size);
  // SheetJS would end the outer table with the inner one.
  if (kind === HTML && hasNestedTables(textOf(bytes))) return undefined;
  const book = await parse(kind, bytes);
  file.checkTime();
  return read(book, kind, file);
}

async function kindOf(file: FileBytes, head: Uint8Array): Promise<Kind | undefined> {
  const streams = await rootStreams(file, head);
  if (streams.some((name) => /^workbook$/i.test(name))) return XLS;
  if (streams.some((name) => /^book$/i.test(name)) || isSingleSheet(head)) return OLD_XLS;
  if (head[0] === 0x50 && head[1] === 0x4b) return xlsbOf(file);
  const beginning = textOf(head.subarray(0, 4096));
  if (
    /<(\w+:)?workbook[\s>]/i.test(beginning) &&
    beginning.includes('urn:schemas-microsoft-com:office:spreadsheet')
  )
    return XML;
  return /\.xls$/i.test(file.name) && /^\s*<[!a-z]/i.test(beginning) && /<table/i.test(textOf(head))
    ? HTML
    : undefined;
}

/** A file of Excel 2 to 4, which is one sheet, begins with a record that names its version (MS-XLS 2.4.21). */
function isSingleSheet(head: Uint8Array): boolean {
  const [record, version = 0, length = 0, zero] = head;
  return record === 0x09 && [0, 2, 4, 8].includes(version) && [4, 6, 8, 16].includes(length) && zero === 0;
}

/** The ZIP file says how large its entries are when they are unpacked (APPNOTE 4.3.12). */
async function xlsbOf(file: FileBytes): Promise<Kind | undefined> {
  const tail = Buffer.from(await file.read(Math.max(0, file.size - TAIL), file.size));
  if (!tail.includes('xl/workbook.bin')) return undefined;
  let size = 0;
  for (
    let at = tail.indexOf('PK\x01\x02');
    at >= 0 && at + 46 <= tail.length;
    at = tail.indexOf('PK\x01\x02', at + 46)
  )
    size += tail.readUInt32LE(at + 24);
  return { ...XLSB, size };
}

/** A cell of HTML. Its end tag may be left out, which SheetJS needs. */
const CELL = /(<t[dh](?:\s[^>]*)?>)((?:(?!<\/?t[dhr][\s>]|<\/table)[^])*)(?:<\/t[dh]\s*>)?/gi;

function hasNestedTables(text: string): boolean {
  const tables = text.split(/<table(?=[\s>])/i);
  return tables.slice(1, -1).some((table) => !/<\/table/i.test(table));
}

async function parse(kind: Kind, bytes: Uint8Array): Promise<WorkBook> {
  const xlsx = await import('@e965/xlsx');
  if (kind.isOld) xlsx.set_cptable(await import('@e965/xlsx/dist/cpexcel.full.mjs'));
  const broken = `${kind.title}: it is broken or cut off.`;
  try {
    if (!kind.isText)
      return xlsx.read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
        ...OPTIONS,
        type: 'buffer',
      });
    const text = textOf(bytes);
    // SheetJS reads as much as there is.
    if (kind === XML && !/<\/(\w+:)?workbook>\s*$/i.test(text.slice(-200))) throw new Error(broken);
    const closed = kind === HTML ? text.replace(CELL, '$1$2</td>') : text;
    return xlsx.read(closed, { ...OPTIONS, type: 'string' });
  } catch (error) {
    const isEncrypted = error instanceof Error && /password|encrypt/i.test(error.message);
    throw new UnreadableTableFile(
      isEncrypted ? `${kind.title}: it is encrypted, and opens with its password only.` : broken,
    );
  }
}

/** In the encoding of its byte order mark, or in the one that it names. */
function textOf(bytes: Uint8Array): string {
  const beginning = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const mark = beginning.startsWith('\xff\xfe')
    ? 'utf-16le'
    : beginning.startsWith('\xfe\xff')
      ? 'utf-16be'
      : undefined;
  const named = /(?:encoding|charset)\s*=\s*["']?([\w-]{1,40})/i.exec(beginning)?.[1];
  try {
    return new TextDecoder(mark ?? named ?? 'utf-8', { fatal: !mark }).decode(bytes, { stream: true });
  } catch {
    // In one piece, Node 20 decodes it as ISO-8859-1.
    return new TextDecoder('windows-1252').decode(bytes, { stream: true });
  }
}

function read(book: WorkBook, { title }: Kind, file: FileBytes): ReadFile {
  const from1904 = book.Workbook?.WBProps?.date1904 ?? false;
  const sheets = book.SheetNames.map((name, index) => ({
    name,
    sheet: book.Sheets[name],
    isHidden: (book.Workbook?.Sheets?.[index]?.Hidden ?? 0) !== 0,
  })).filter(({ sheet }) => !/chart|macro|dialog/.test(String(sheet?.['!type'])));
  const others = book.SheetNames.length - sheets.length;
  const more = sheets.length - MAX_SHEETS;
  return {
    title,
    facts: [
      `${sheets.length.toLocaleString('en-US')} ${sheets.length === 1 ? 'sheet' : 'sheets'}.`,
      ...(others > 0 ? [`${others} of its sheets have charts or macros only, left out.`] : []),
      ...(more > 0 ? [`The first ${MAX_SHEETS} are read, ${more.toLocaleString('en-US')} left out.`] : []),
    ],
    tables: sheets
      .slice(0, MAX_SHEETS)
      .map(({ name, sheet, isHidden }) =>
        sheetTable(name, sheet, from1904, isHidden ? ['This sheet is hidden.'] : [], file),
      ),
  };
}
