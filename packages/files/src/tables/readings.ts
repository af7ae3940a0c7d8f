import { NUMBERS } from './number-readings.js';
import type { Reading } from './reading.js';
import { TIMES } from './time-readings.js';

const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
]);

/** A column has the first of these types that all its cells have. */
export const READINGS: readonly Reading[] = [
  {
    label: 'boolean',
    test: (v) => `lower(${v}) in ('true', 'false')`,
    value: (v) => `lower(${v}) = 'true'`,
    read: (v) => BOOLEANS.get(v.toLowerCase()),
  },
  ...NUMBERS,
  ...TIMES,
];

/** Cells whose values only the engine has: numbers of which a double could lose digits, and times in no year of four digits. */
const LEFT_TO_ENGINE = /[\d.,'’\p{Zs}]{16}|^(?:0000|9999)-.{6}/u;

/** Whether the value of a cell may be another one without the engine. */
export function isLeftToEngine(v: string): boolean {
  return LEFT_TO_ENGINE.test(v) || v.includes('\0');
}
