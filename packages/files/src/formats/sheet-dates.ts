import { relatedPart } from './relationships.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** The numbers of the built-in formats for dates and times (ECMA-376 part 1, 18.8.30). */
const BUILT_IN = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]);

/** The numbers of the cell styles that show a number as a date or a time. */
export async function dateFormats(zip: ZipArchive, workbook: string): Promise<Set<number>> {
  const formats = new Set(BUILT_IN);
  const styles = new Set<number>();
  let inCellStyles = false;
  let style = 0;
  await readXml(zip.read(await relatedPart(zip, workbook, 'styles')), {
    open(name, attributes) {
      const number = Number(attributes['numFmtId'] ?? 0);
      if (name === 'numFmt' && showsDate(attributes['formatCode'] ?? '')) formats.add(number);
      if (name === 'cellXfs') inCellStyles = true;
      if (name !== 'xf' || !inCellStyles) return;
      if (formats.has(number)) styles.add(style);
      style += 1;
    },
    close(name) {
      if (name === 'cellXfs') inCellStyles = false;
    },
  });
  return styles;
}

/** The serial number of a day as `2024-02-29`, with the time if it has one; undefined if there is no such day. */
export function toIsoDate(serial: number, from1904: boolean): string | undefined {
  if (!Number.isFinite(serial) || serial < 0 || serial >= 2_958_466) return undefined;
  // Day 60 is 29 February 1900, which did not exist: the days before it have numbers that are smaller by one.
  const epoch = from1904 ? 24_107 : serial < 60 ? 25_568 : 25_569;
  const iso = new Date(Math.round((serial - epoch) * 86_400) * 1000).toISOString();
  return serial % 1 === 0 ? iso.slice(0, 10) : iso.slice(0, 19).replace('T', ' ');
}

/** Characters of a format, as the programs limit it. The expressions below take time with the square of this number. */
const LONGEST_FORMAT = 255;

/** Whether a format has a letter for dates outside of quotes, escapes, colours and conditions. */
function showsDate(code: string): boolean {
  const bare = code
    .slice(0, LONGEST_FORMAT)
    .replace(/"[^"]*"|\\.|_.|\*./g, '')
    .replace(/\[(?!(h+|m+|s+)\])[^\]]*\]/gi, '');
  return /[dmyhs]/i.test(bare) && !/general/i.test(bare);
}
