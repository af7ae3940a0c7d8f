import { quoted } from './column-notes.js';
import type { FileBytes } from './file-bytes.js';
import type { ReadFile } from './read-table.js';
import { UnreadableTableFile } from './unreadable-table-file.js';

/** Headers and data are in blocks of 36 cards of 80 characters (FITS Standard 4.0, 3.3 and 4.1). */
const BLOCK = 2880;
const CARD = 80;
/** Blocks of one header, and parts of one file, that are read, at most. */
const MOST_BLOCKS = 1_000;
const MOST_PARTS = 50;
const MOST_COLUMNS = 20;
/** Parts that are described, at most. */
const DESCRIBED = 10;

const BROKEN = 'This FITS file is broken or cut off.';
const NOT_READ = 'Its values are not read here: send what is needed of them as CSV or an image.';
const NUMBERS = new Map([
  [8, 'bytes'],
  [16, 'integers of 16 bits'],
  [32, 'integers of 32 bits'],
  [64, 'integers of 64 bits'],
  [-32, 'numbers of 32 bits'],
  [-64, 'numbers of 64 bits'],
]);
/** What is of interest of the first header. */
const FACTS = [
  ['OBJECT', 'Object'],
  ['TELESCOP', 'Telescope'],
  ['INSTRUME', 'Instrument'],
  ['DATE-OBS', 'Observed'],
] as const;

type Header = Map<string, string>;

/** Describes the parts of a FITS file by their headers. Their data is not read. */
export async function readFits(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  if (!/^SIMPLE {2}= +T/.test(Buffer.from(head).toString('latin1', 0, CARD))) return undefined;
  const parts: Header[] = [];
  let at = 0;
  while (at < file.size && parts.length < MOST_PARTS) {
    const read = await headerAt(file, at);
    if (!read) break;
    parts.push(read.header);
    at = read.end + dataLength(read.header);
  }
  const [first] = parts;
  if (!first) throw new UnreadableTableFile(BROKEN);
  const known = FACTS.flatMap(([keyword, name]) =>
    first.has(keyword) ? [`${name}: ${quoted(first.get(keyword)!)}.`] : [],
  );
  const described = parts.map(aboutPart).filter((sentence) => sentence !== undefined);
  const more = described.length > DESCRIBED ? [`${described.length - DESCRIBED} more parts.`] : [];
  const cut = at > file.size ? ['The file is cut off.'] : [];
  const facts = [...known, ...described.slice(0, DESCRIBED), ...more, ...cut, NOT_READ];
  return { title: 'FITS data', facts, tables: [] };
}

/** The header that begins at an offset; undefined if what is there is none. */
async function headerAt(
  file: FileBytes,
  start: number,
): Promise<{ header: Header; end: number } | undefined> {
  const header: Header = new Map();
  for (let block = 0; block < MOST_BLOCKS; block++) {
    const at = start + block * BLOCK;
    if (at + CARD > file.size) return undefined;
    file.checkTime();
    const bytes = await file.read(at, Math.min(file.size, at + BLOCK));
    const text = Buffer.from(bytes).toString('latin1');
    if (block === 0 && !/^(?:SIMPLE|XTENSION) *=/.test(text)) return undefined;
    for (let card = 0; card < text.length; card += CARD) {
      const keyword = text.slice(card, card + 8).trimEnd();
      if (keyword === 'END') return { header, end: at + BLOCK };
      if (text.slice(card + 8, card + 10) === '= ' && !header.has(keyword))
        header.set(keyword, valueOf(text.slice(card + 10, card + CARD)));
    }
  }
  return undefined;
}

/** The value of a card, without its comment (FITS Standard 4.0, 4.2). */
function valueOf(text: string): string {
  const [, string] = /^ *'((?:[^']|'')*)'/.exec(text) ?? [];
  return string === undefined ? text.split('/', 1)[0]!.trim() : string.replaceAll("''", "'").trimEnd();
}

function numberOf(header: Header, keyword: string, otherwise = 0): number {
  const value = Number(header.get(keyword) ?? otherwise);
  return Number.isSafeInteger(value) ? value : 0;
}

function axesOf(header: Header): number[] {
  const count = Math.min(999, Math.max(0, numberOf(header, 'NAXIS')));
  return Array.from({ length: count }, (_, index) => Math.max(0, numberOf(header, `NAXIS${index + 1}`)));
}

/** Bytes of the data behind a header, in whole blocks (FITS Standard 4.0, 4.4.1.1, and 6 for groups). */
function dataLength(header: Header): number {
  const axes = axesOf(header);
  if (axes.length === 0) return 0;
  const values = (isGrouped(header) ? axes.slice(1) : axes).reduce((product, axis) => product * axis, 1);
  const groups = Math.max(1, numberOf(header, 'GCOUNT', 1));
  const parameters = Math.max(0, numberOf(header, 'PCOUNT'));
  const bits = Math.abs(numberOf(header, 'BITPIX')) * groups * (parameters + values);
  return Math.ceil(bits / 8 / BLOCK) * BLOCK;
}

/** Groups have a first axis of 0, and parameters before each array (FITS Standard 4.0, 6). */
function isGrouped(header: Header): boolean {
  return header.get('NAXIS1') === '0' && header.get('GROUPS') === 'T';
}

/** A sentence about a part; undefined if it has no data. */
function aboutPart(header: Header): string | undefined {
  const axes = axesOf(header);
  const name = header.get('EXTNAME');
  const named = name ? ` ${quoted(name)}` : '';
  const kind = header.get('XTENSION')?.trim();
  if (kind === 'BINTABLE' || kind === 'TABLE') {
    const count = Math.max(0, numberOf(header, 'TFIELDS'));
    const columns = Array.from({ length: Math.min(count, MOST_COLUMNS) }, (_, index) =>
      quoted(header.get(`TTYPE${index + 1}`) ?? `column ${index + 1}`),
    );
    const rest = count > MOST_COLUMNS ? `, and ${count - MOST_COLUMNS} more` : '';
    return `Table${named}: ${axes[1] ?? 0} rows of ${count} columns (${columns.join(', ')}${rest}).`;
  }
  const numbers = NUMBERS.get(numberOf(header, 'BITPIX')) ?? 'numbers';
  if (isGrouped(header))
    return `Groups: ${numberOf(header, 'GCOUNT', 1)} of ${axes.slice(1).join(' × ')} ${numbers}.`;
  if (axes.length === 0 || axes.includes(0)) return undefined;
  return `Array${named}: ${axes.join(' × ')} ${numbers}.`;
}
