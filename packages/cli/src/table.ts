import stringWidth from 'string-width';
import { printableLine } from './printable.js';

const GAP = '  ';
/** A cell has so many columns of the terminal, or is whole, before another column is left out for it. */
const GOOD_ROOM = 16;
/** The fewest columns of the terminal in which a cell that is cut is of use. */
const LEAST_ROOM = 4;

/**
 * Lines whose columns are aligned. Where the terminal is too narrow, columns are left out; the last one of these is cut first. All
 * other cells are whole: people copy them, and a terminal breaks a line without a change to what is copied.
 *
 * @param width of the terminal, in columns; Infinity where there is none
 * @param spare the headings of the columns that may be left out, the first one first
 */
export function tableOf(headings: string[], rows: string[][], width: number, spare: string[] = []): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printableLine(cell)));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => stringWidth(row[column]!))));
  const excess = widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length) - width;
  const cutAt = headings.indexOf(spare.at(-1) ?? '');
  if (excess > 0 && cutAt >= 0) {
    const room = widths[cutAt]! - excess;
    const least = spare.length > 1 ? Math.min(widths[cutAt]!, GOOD_ROOM) : LEAST_ROOM;
    if (room < least) {
      const kept = (row: string[]) => row.filter((_, column) => headings[column] !== spare[0]);
      return tableOf(kept(headings), rows.map(kept), width, spare.slice(1));
    }
    for (const row of cells) row[cutAt] = cut(row[cutAt]!, room);
    widths[cutAt] = room;
  }
  return cells
    .map((row) => {
      const padded = row.map((cell, column) => cell + ' '.repeat(widths[column]! - stringWidth(cell)));
      return `${padded.join(GAP).trimEnd()}\n`;
    })
    .join('');
}

/** As much of a line as fits into so many columns of a terminal. */
export function cut(text: string, room: number): string {
  if (stringWidth(text) <= room) return text;
  let kept = '';
  let taken = 0;
  for (const character of text) {
    taken += stringWidth(character);
    if (taken > room - 1) break;
    kept += character;
  }
  return `${kept}…`;
}
