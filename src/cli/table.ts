import { printableLine } from './printable.js';

/** Characters that take two columns of a terminal: CJK, full-width forms, emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;
const GAP = '  ';

/**
 * Lines whose columns are aligned.
 *
 * @param width of the terminal, in columns: the last column is cut to fit. Undefined: nothing is cut
 */
export function tableOf(headings: string[], rows: string[][], width: number | undefined): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printableLine(cell)));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => columnsOf(row[column]!))));
  const last = headings.length - 1;
  const before = widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, 0);
  const room = width === undefined ? Infinity : Math.max(8, width - before);
  return cells
    .map((row) => {
      const padded = row
        .slice(0, last)
        .map((cell, column) => cell + ' '.repeat(widths[column]! - columnsOf(cell)));
      return `${[...padded, cut(row[last]!, room)].join(GAP).trimEnd()}\n`;
    })
    .join('');
}

function columnsOf(text: string): number {
  return [...text].reduce((sum, character) => sum + (WIDE.test(character) ? 2 : 1), 0);
}

function cut(text: string, room: number): string {
  if (columnsOf(text) <= room) return text;
  let kept = '';
  for (const character of text) {
    if (columnsOf(kept + character) > room - 1) break;
    kept += character;
  }
  return `${kept}…`;
}
