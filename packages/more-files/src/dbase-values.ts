import type { ColumnNotes } from './column-notes.js';
import { isoSecond } from './iso-times.js';
import { withPoint } from './decimal-text.js';

/** The day of the Julian calendar on which 1970 begins. */
const YEAR_1970 = 2_440_588;
const SECONDS_OF_DAY = 86_400;
/** Types whose values are in another file. */
const MEMOS = 'MGPW';
const OVERFLOW = 'a number that was too long for its field, read as missing';

/** Whether the values of a type are in another file. In dBASE, B is such a type; in FoxPro it is a number. */
export function isMemo(type: string, isFoxPro: boolean): boolean {
  return MEMOS.includes(type) || (type === 'B' && !isFoxPro);
}

/**
 * The text of a value; null if it is missing.
 *
 * @param bytes of the field in a record
 * @param textOf decodes texts
 */
export function dbaseText(
  { type, column }: { type: string; column: string },
  bytes: Buffer,
  textOf: (bytes: Buffer) => string,
  notes: ColumnNotes,
): string | null {
  switch (type) {
    case 'N':
    case 'F':
      return numberText(bytes, () => notes.add(column, OVERFLOW));
    case 'D':
      return dateText(trimmed(bytes));
    case 'L':
      return { T: 'TRUE', Y: 'TRUE', F: 'FALSE', N: 'FALSE' }[trimmed(bytes).toUpperCase()] ?? null;
    case 'I':
    case '+':
      return String(bytes.readInt32LE());
    case 'Y':
      return withPoint(bytes.readBigInt64LE(), 4);
    case 'B':
    case 'O':
      return finite(bytes.readDoubleLE());
    case 'T':
    case '@':
      return timeText(bytes);
    case 'Q':
      return `(${bytes.length} bytes)`;
    default:
      return textOf(bytes).replace(/[\0 ]+$/, '') || null;
  }
}

function trimmed(bytes: Buffer): string {
  return bytes.toString('latin1').replaceAll('\0', ' ').trim();
}

function numberText(bytes: Buffer, onOverflow: () => void): string | null {
  const text = trimmed(bytes);
  if (/^\*+$/.test(text)) onOverflow();
  // Zeros in front are those of the field's width, not of a code.
  return /^\*+$|^$/.test(text) ? null : text.replace(/^([+-]?)0+(?=\d)/, '$1');
}

function finite(value: number): string | null {
  return Number.isFinite(value) ? String(value) : null;
}

function dateText(digits: string): string | null {
  if (/^0*$/.test(digits)) return null;
  return digits.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');
}

/** A day and milliseconds, which FoxPro rounds down from a whole second. */
function timeText(bytes: Buffer): string | null {
  const day = bytes.readInt32LE();
  const seconds = Math.round(bytes.readInt32LE(4) / 1000);
  if (day === 0 || /^ +$/.test(bytes.toString('latin1'))) return null;
  return isoSecond((day - YEAR_1970) * SECONDS_OF_DAY + seconds) ?? null;
}
