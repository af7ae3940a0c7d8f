import { DataType, DateUnit, IntervalUnit, Precision } from 'apache-arrow';
import type { Data, Date_, Decimal, Timestamp } from 'apache-arrow';
import { uint16ToFloat64 } from 'apache-arrow/util/math';
import { clockOf, fractionOf, isoDay, isoSecond } from './iso-times.js';
import { shortestText, withPoint } from './decimal-text.js';

/** The text of a value that is not null; null for one that is read as missing. */
export type ReadText = (data: Data, at: number) => string | null;
/** Gets what was changed in a value. */
export type Note = (what: string) => void;

const NO_NUMBER = 'no finite number, read as missing';
const NO_DATE = 'no date of the calendar, read as missing';
const FINER = 'more exact than a microsecond, which is the most that statements know';
/** Digits behind the point of a second, by the unit. */
const DIGITS = [0, 3, 6, 9];
const PER_SECOND = DIGITS.map((digits) => 10n ** BigInt(digits));
/** Significant digits that tell all values of a precision apart. */
const SIGNIFICANT = { [Precision.HALF]: 5, [Precision.SINGLE]: 9, [Precision.DOUBLE]: 17 };

/** Bytes of a text that are in its view (Variable-size Binary View Layout). */
const LONGEST_IN_VIEW = 12;

/** A number of a column's buffer. @throws {RangeError} if the buffer is too short, as in a broken file */
export function valueOf({ values }: Data, at: number): number | bigint {
  const value = (values as ArrayLike<number | bigint>)[at];
  if (value === undefined) throw new RangeError('A buffer is too short.');
  return value;
}

export function isTrue(data: Data, at: number): boolean {
  const bit = data.offset + at;
  return (Number(valueOf(data, bit >> 3)) & (1 << (bit % 8))) !== 0;
}

export function floatText(precision: Precision, note: Note): ReadText {
  return (data, at) => {
    const stored = Number(valueOf(data, at));
    const value = precision === Precision.HALF ? uint16ToFloat64(stored) : stored;
    if (Number.isFinite(value)) {
      return precision === Precision.DOUBLE ? String(value) : shortestText(value, SIGNIFICANT[precision]);
    }
    note(NO_NUMBER);
    return null;
  };
}

export function decimalText({ scale, bitWidth }: Decimal): ReadText {
  const words = bitWidth / 32;
  return (data, at) => {
    let unsigned = 0n;
    for (let word = words - 1; word >= 0; word -= 1) {
      unsigned = (unsigned << 32n) | BigInt(valueOf(data, at * words + word));
    }
    return withPoint(BigInt.asIntN(bitWidth, unsigned), scale);
  };
}

export function dateText({ unit }: Date_, note: Note): ReadText {
  return (data, at) => {
    const value = Number(valueOf(data, at));
    const isTime = unit === DateUnit.MILLISECOND && value % 86_400_000 !== 0;
    const days = unit === DateUnit.DAY ? value : value / 86_400_000;
    const text = isTime ? isoTime(BigInt(value), 3) : isoDay(days);
    if (text === undefined) note(NO_DATE);
    return text ?? null;
  };
}

export function timestampText({ unit, timezone }: Timestamp, note: Note): ReadText {
  return (data, at) => {
    const value = BigInt(valueOf(data, at));
    const text = isoTime(value, DIGITS[unit]!);
    if (text === undefined) {
      note(NO_DATE);
      return null;
    }
    if (DIGITS[unit]! > 6 && value % 1000n !== 0n) note(FINER);
    return timezone ? `${text}Z` : text;
  };
}

/** @param digits behind the point of a second, which the value has too */
function isoTime(value: bigint, digits: number): string | undefined {
  const perSecond = 10n ** BigInt(digits);
  const parts = ((value % perSecond) + perSecond) % perSecond;
  const text = isoSecond(Number((value - parts) / perSecond));
  return text === undefined ? undefined : text + fractionOf(parts, digits);
}

/** Times of a day, and durations. */
export function clockText({ unit }: { unit: number }): ReadText {
  const perSecond = PER_SECOND[unit]!;
  return (data, at) => {
    const value = BigInt(valueOf(data, at));
    const amount = value < 0n ? -value : value;
    const text = clockOf(amount / perSecond) + fractionOf(amount % perSecond, DIGITS[unit]!);
    return value < 0n ? `-${text}` : text;
  };
}

/** Calendar intervals, as durations of ISO 8601. */
export function intervalText(unit: IntervalUnit): ReadText {
  const part = (data: Data, at: number) => Number(valueOf(data, at));
  if (unit === IntervalUnit.YEAR_MONTH) return (data, at) => `P${part(data, at)}M`;
  if (unit === IntervalUnit.DAY_TIME) {
    return (data, at) => `P${part(data, at * 2)}DT${part(data, at * 2 + 1) / 1000}S`;
  }
  return (data, at) => {
    const low = BigInt.asUintN(32, BigInt(valueOf(data, at * 4 + 2)));
    const parts = (BigInt(valueOf(data, at * 4 + 3)) << 32n) | low;
    return `P${part(data, at * 4)}M${part(data, at * 4 + 1)}DT${withPoint(parts, 9)}S`;
  };
}

/** The bytes of a value of a type that has bytes or text. */
export function bytesOf(data: Data, at: number): Uint8Array {
  const values = data.values as Uint8Array;
  const offsets = data.valueOffsets as ArrayLike<number | bigint> | undefined;
  if (offsets) return slice(values, Number(offsets[at]), Number(offsets[at + 1]));
  const stored = slice(values, at * data.stride, (at + 1) * data.stride);
  if (!DataType.isUtf8View(data.type) && !DataType.isBinaryView(data.type)) return stored;
  const view = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  const length = view.readInt32LE(0);
  if (length <= LONGEST_IN_VIEW) return slice(stored, 4, 4 + length);
  const start = view.readInt32LE(12);
  return slice(data.variadicBuffers[view.readInt32LE(8)] ?? new Uint8Array(), start, start + length);
}

function slice(bytes: Uint8Array, start: number, end: number): Uint8Array {
  if (!(start >= 0 && start <= end && end <= bytes.length)) throw new RangeError('A buffer is too short.');
  return bytes.subarray(start, end);
}
