import { printableLine } from './printable.js';

/** Characters that take two columns of a terminal: CJK, full-width forms, emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;
const GAP = '  ';
/** The fewest columns of the terminal in which the last column is of use. */
const LEAST_ROOM = 8;

/**
 * Lines whose columns are aligned, and which are cut to the width of the terminal.
 *
 * @param width of the terminal, in columns; Infinity where there is none
 * @param spare the headings of the columns that are left out, one after the other, so that the last column has room
 */
export function tableOf(headings: string[], rows: string[][], width: number, spare: string[] = []): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printableLine(cell)));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => columnsOf(row[column]!))));
  const last = headings.length - 1;
  const before = widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, 0);
  const [least, ...others] = spare;
  if (least !== undefined && before + Math.min(widths[last]!, LEAST_ROOM) > width) {
    const kept = (row: string[]) => row.filter((_, column) => headings[column] !== least);
    return tableOf(kept(headings), rows.map(kept), width, others);
  }
  return cells
    .map((row) => {
      const padded = row.map((cell, column) => cell + ' '.repeat(widths[column]! - columnsOf(cell)));
      return `${cut(padded.join(GAP).trimEnd(), width)}\n`;
    })
    .join('');
}

function columnsOf(text: string): number {
  return [...text].reduce((sum, character) => sum + (WIDE.test(character) ? 2 : 1), 0);
}

/** As much of a line as fits into so many columns of a terminal. */
export function cut(text: string, room: number): string {
  if (columnsOf(text) <= room) return text;
  let kept = '';
  for (const character of text) {
    if (columnsOf(kept + character) > room - 1) break;
    kept += character;
  }
  return `${kept}…`;
}
