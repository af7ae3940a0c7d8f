import { relatedPart } from './relationships.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** How a format shows a number: as one of these, or with at least so many digits. */
export type NumberFormat = 'date' | 'time' | 'duration' | number;

/**
 * The built-in formats (ECMA-376 part 1, 18.8.30). Some are times in one language and dates in another. They are here as
 * times, as their numbers show which of both they are.
 */
const BUILT_IN: [NumberFormat, number[]][] = [
  ['date', [14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 54, 57, 58, 71, 72, 73, 74, 77, 81]],
  ['time', [18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 52, 53, 55, 56, 75, 76, 78, 80]],
  ['duration', [46, 79]],
];

/** The forms of the cell styles, by their number. */
export async function numberFormats(zip: ZipArchive, workbook: string): Promise<Map<number, NumberFormat>> {
  const formats = new Map<number, NumberFormat | undefined>(
    BUILT_IN.flatMap(([format, numbers]) => numbers.map((number) => [number, format])),
  );
  const styles = new Map<number, NumberFormat>();
  let inCellStyles = false;
  let style = 0;
  await readXml(zip.read(await relatedPart(zip, workbook, 'styles')), {
    open(name, attributes) {
      const number = Number(attributes['numFmtId'] ?? 0);
      if (name === 'numFmt') formats.set(number, formatOf(attributes['formatCode'] ?? ''));
      if (name === 'cellXfs') inCellStyles = true;
      if (name !== 'xf' || !inCellStyles) return;
      const format = formats.get(number);
      if (format) styles.set(style, format);
      style += 1;
    },
    close(name) {
      if (name === 'cellXfs') inCellStyles = false;
    },
  });
  return styles;
}

/** Days up to which a number with a format for times is no date: nobody means a time in the year 1900. */
const FIRST_YEAR = 366;
const LAST_DAY = 2_958_466;

/** The number of a cell in the form of its format. Programs show 15 digits of a number, and the file may have 17. */
export function shownNumber(value: string, format: NumberFormat | undefined, from1904: boolean): string {
  const number = Number(value);
  if (value === '' || !Number.isFinite(number)) return value;
  if (typeof format === 'number' && /^\d+$/.test(value)) return value.padStart(format, '0');
  const isClock = format === 'duration' || (format === 'time' && number < FIRST_YEAR);
  if (isClock && Math.abs(number) < LAST_DAY) return clock(number * 86_400);
  const date = format === 'date' || format === 'time' ? toIsoDate(number, from1904) : undefined;
  if (date !== undefined || /^[+-]?\d+$/.test(value)) return date ?? value;
  const shown = Number(number.toPrecision(15));
  return Math.abs(shown) >= 1e15 ? shown.toExponential() : String(shown);
}

/** Seconds as `30:05:00` or `-00:00:01.5`. */
export function clock(seconds: number): string {
  const milliseconds = Math.round(Math.abs(seconds) * 1000);
  const parts = [3_600_000, 60_000, 1000].map((unit, index) => {
    const part = Math.floor(milliseconds / unit);
    return String(index === 0 ? part : part % 60).padStart(2, '0');
  });
  const rest = milliseconds % 1000 === 0 ? '' : String((milliseconds % 1000) / 1000).slice(1);
  return `${seconds < 0 && milliseconds > 0 ? '-' : ''}${parts.join(':')}${rest}`;
}

/** The serial number of a day as `2024-02-29`, with the time if it has one; undefined if there is no such day. */
export function toIsoDate(serial: number, from1904: boolean): string | undefined {
  if (!Number.isFinite(serial) || serial < 0 || serial >= LAST_DAY) return undefined;
  // Day 60 is 29 February 1900, which did not exist: the days before it have numbers that are smaller by one.
  const epoch = from1904 ? 24_107 : serial < 60 ? 25_568 : 25_569;
  const iso = new Date(Math.round((serial - epoch) * 86_400) * 1000).toISOString();
  return serial % 1 === 0 ? iso.slice(0, 10) : iso.slice(0, 19).replace('T', ' ');
}

/** Characters of a format, as the programs limit it. The expressions below take time with the square of this number. */
const LONGEST_FORMAT = 255;

/** What a format shows, by its letters outside of quotes, escapes, colours and conditions. */
function formatOf(formatCode: string): NumberFormat | undefined {
  const bare = formatCode
    .slice(0, LONGEST_FORMAT)
    .replace(/"[^"]*"|\\.|_.|\*./g, '')
    .replace(/\[(?!(h+|m+|s+)\])[^\]]*\]/gi, '')
    .replace(/am\/pm|a\/p/gi, '');
  const [, zeros] = /^(0{2,})(;|$)/.exec(bare) ?? [];
  if (zeros) return zeros.length;
  if (/general/i.test(bare)) return undefined;
  if (/\[[hms]+\]/i.test(bare)) return 'duration';
  if (/[dyb]|mmm/i.test(bare)) return 'date';
  if (/[hs]/i.test(bare)) return 'time';
  return /m/i.test(bare) ? 'date' : undefined;
}
