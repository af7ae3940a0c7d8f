import type { JsonValue } from './engine.js';

/** How a cell can be read. `v` is the cell without white space around. */
export interface Reading {
  label: string;
  /** Whether a cell is of this type, in SQL. */
  test: (v: string) => string;
  /** The value of such a cell, in SQL. */
  value: (v: string) => string;
  /** The same value without the engine; undefined if the cell is not of this type. */
  read: (v: string) => JsonValue | undefined;
}

const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
]);
// A zero in front belongs to a code, such as a postal code.
const INTEGER = /[+-]?(?:0|[1-9]\d{0,17})/;
const NUMBER = /[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/;
const THOUSANDS = /[+-]?(?:0|[1-9]\d{0,2}(?:,\d{3})*)(?:\.\d+)?/;
const DECIMAL_COMMA = /[+-]?(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?|,\d+)/;
const DATE = /(\d{4})-(\d\d)-(\d\d)/;
const TIME =
  /(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?(Z|[+-](?:0\d|1[0-4]):?[0-5]\d)?)?)?/;
// All digits of the year: `1.2.3` is a version, and `03/04/24` says too little.
const DAY_FIRST = /(\d\d?)(?:\/(\d\d?)\/|\.(\d\d?)\.|-(\d\d?)-)(\d{4})/;
const MONTH_FIRST = /(\d\d?)(?:\/(\d\d?)\/|-(\d\d?)-)(\d{4})/;
/** Characters of a date and time that has neither an offset nor parts of a second. */
const WITHOUT_OFFSET = 19;

/** A column has the first of these types that all its cells have. */
export const READINGS: Reading[] = [
  {
    label: 'boolean',
    test: (v) => `lower(${v}) in ('true', 'false')`,
    value: (v) => `lower(${v}) = 'true'`,
    read: (v) => BOOLEANS.get(v.toLowerCase()),
  },
  {
    label: 'integer',
    test: (v) => matches(v, INTEGER),
    value: (v) => `try_cast(${v} as bigint)`,
    read: reader(INTEGER, ([v]) => Number(v)),
  },
  decimal(
    'number',
    NUMBER,
    (v) => v,
    (v) => v,
  ),
  decimal(
    'number (comma between thousands)',
    THOUSANDS,
    (v) => `replace(${v}, ',', '')`,
    (v) => v.replaceAll(',', ''),
  ),
  decimal(
    'number (decimal comma)',
    DECIMAL_COMMA,
    (v) => `replace(replace(${v}, '.', ''), ',', '.')`,
    (v) => v.replaceAll('.', '').replace(',', '.'),
  ),
  {
    label: 'date',
    test: (v) => `(${matches(v, DATE)} and try_cast(${v} as date) is not null)`,
    value: (v) => `try_cast(${v} as date)`,
    read: reader(DATE, ([, year, month, day]) => dateOf(year!, month!, day!)),
  },
  {
    label: 'date and time',
    test: (v) => `(${matches(v, TIME)} and try_cast(${v} as timestamp) is not null)`,
    // In UTC. The engine takes several times as long for values that may have an offset.
    value: (v) =>
      `case when length(${v}) > ${WITHOUT_OFFSET} then timezone('UTC', try_cast(${v} as timestamptz)) ` +
      `else try_cast(${v} as timestamp) end`,
    read: reader(TIME, timeOf),
  },
  dateIn('date (day first)', DAY_FIRST, ['%d/%m/%Y', '%d.%m.%Y', '%d-%m-%Y'], (first, second, year) =>
    dateOf(year, second, first),
  ),
  dateIn('date (month first)', MONTH_FIRST, ['%m/%d/%Y', '%m-%d-%Y'], (first, second, year) =>
    dateOf(year, first, second),
  ),
];

/** Cells whose values only the engine has: integers that are no safe numbers, and times that may be in no year of four digits. */
const LEFT_TO_ENGINE = /^[+-]?\d{16,18}$|^(?:0000|9999)-.{6}/;

/** Whether the value of a cell may be another one without the engine. */
export function isLeftToEngine(v: string): boolean {
  return LEFT_TO_ENGINE.test(v) || v.includes('\0');
}

function matches(v: string, { source }: RegExp): string {
  return `regexp_full_match(${v}, '${source}')`;
}

function reader(
  pattern: RegExp,
  valueOf: (match: RegExpExecArray) => JsonValue | undefined,
): Reading['read'] {
  const whole = new RegExp(`^(?:${pattern.source})$`);
  return (v) => {
    const match = whole.exec(v);
    return match ? valueOf(match) : undefined;
  };
}

/** @param sql, text the number with a decimal point, in SQL and as a text */
function decimal(
  label: string,
  pattern: RegExp,
  sql: (v: string) => string,
  text: (v: string) => string,
): Reading {
  const value = (v: string) => `try_cast(${sql(v)} as double)`;
  return {
    label,
    test: (v) => `(${matches(v, pattern)} and isfinite(${value(v)}))`,
    value,
    read: reader(pattern, ([v]) => {
      const number = Number(text(v));
      return Number.isFinite(number) ? number : undefined;
    }),
  };
}

function dateIn(
  label: string,
  pattern: RegExp,
  formats: string[],
  valueOf: (first: string, second: string, year: string) => string | undefined,
): Reading {
  const parsed = (v: string) => `try_strptime(${v}, [${formats.map((format) => `'${format}'`).join(', ')}])`;
  return {
    label,
    test: (v) => `(${matches(v, pattern)} and ${parsed(v)} is not null)`,
    value: (v) => `cast(${parsed(v)} as date)`,
    read: reader(pattern, (match) => {
      const [first, second, year] = match.slice(1).filter((group) => group !== undefined);
      return valueOf(first!, second!, year!);
    }),
  };
}

/** ISO 8601; undefined if there is no such day. */
function dateOf(year: string, month: string, day: string): string | undefined {
  const text = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined;
}

function timeOf(match: RegExpExecArray): string | undefined {
  const [, year, month, day, hour = '00', minute = '00', second = '00', parts = '', offset = 'Z'] = match;
  const date = dateOf(year!, month!, day!);
  const isEndOfDay = hour === '24' && Number(minute) === 0 && Number(second) === 0 && Number(parts) === 0;
  if (date === undefined || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(hour) > 23 && !isEndOfDay) return undefined;
  const minutes = Number(hour) * 60 + Number(minute) - minutesOf(offset);
  const time = new Date(Date.parse(`${date}T00:00:00Z`) + (minutes * 60 + Number(second)) * 1000);
  const fraction = parts.slice(0, 6).replace(/0+$/, '');
  return `${time.toISOString().slice(0, 19).replace('T', ' ')}${fraction === '' ? '' : `.${fraction}`}`;
}

function minutesOf(offset: string): number {
  if (offset === 'Z') return 0;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2));
  return offset.startsWith('-') ? -minutes : minutes;
}
