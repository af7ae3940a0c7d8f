import { matches, reader, whole } from './reading.js';
import type { Reading } from './reading.js';

/** A way to write numbers: what all cells of a column have in common. */
interface NumberForm {
  label: string;
  pattern: RegExp;
  /** What is replaced, one after another, to get a number with a decimal point. */
  replaced: [from: string, to: string][];
}

// A zero in front belongs to a code, such as a postal code. A longer integer is an identifier, of which a number could lose digits.
const INTEGER = /[+-]?(?:0|[1-9]\d{0,18})/;
const PLAIN = String.raw`(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)`;
const GROUPED = String.raw`(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?|\.\d+)`;
const COMMA = String.raw`(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?|,\d+)`;
const SPACED = String.raw`(?:0|[1-9]\d{0,2}(?:\p{Zs}\d{3})*)(?:[.,]\d+)?`;
const SPACES: NumberForm['replaced'] = [' ', '\u00a0', '\u202f', '\u2009'].map((space) => [space, '']);
const TO_POINT: NumberForm['replaced'] = [
  ['.', ''],
  [',', '.'],
];
const CURRENCIES = ['$', '€', '£', '¥', '₹', 'kr', 'zł', 'CHF', 'EUR', 'USD', 'GBP'];
const MONEY = GROUPED.replace('(?:,', "(?:[,'’\\p{Zs}]");
const MONEY_COMMA = COMMA.replace(String.raw`(?:\.`, String.raw`(?:[.'’\p{Zs}]`);

const FORMS: NumberForm[] = [
  form('number', `[+-]?${PLAIN}(?:[eE][+-]?\\d+)?`, []),
  form('number (comma between thousands)', `[+-]?(?:0|[1-9]\\d{0,2}(?:,\\d{3})*)(?:\\.\\d+)?`, [[',', '']]),
  form('number (decimal comma)', `[+-]?${COMMA}`, TO_POINT),
  form('number (space between thousands)', `[+-]?${SPACED}`, [...SPACES, [',', '.']]),
  form('number (apostrophe between thousands)', `[+-]?(?:0|[1-9]\\d{0,2}(?:['’]\\d{3})*)(?:\\.\\d+)?`, [
    ["'", ''],
    ['’', ''],
  ]),
  form('number (percent)', `[+-]?${GROUPED}\\p{Zs}?%`, [['%', ''], ...SPACES, [',', '']]),
  form('number (percent, decimal comma)', `[+-]?${COMMA}\\p{Zs}?%`, [['%', ''], ...SPACES, ...TO_POINT]),
  form('number (− if negative)', `[−+]?${GROUPED}`, [
    ['−', '-'],
    [',', ''],
  ]),
  form('number (brackets if negative)', `\\(${GROUPED}\\)|${GROUPED}`, [
    ['(', '-'],
    [')', ''],
    [',', ''],
  ]),
];
const MONEY_FORMS = CURRENCIES.flatMap(moneyIn);

/** Of a telephone: its plus sign is a part of it. */
const CALL = /\+\d{7,}/;
/** Numbers of which a double could lose digits before the point, and those of telephones. */
const LONG = new RegExp(String.raw`[+-]?(?:\d{16,}|\d{14,}\.\d+)|${CALL.source}`);
/** Those with more than the 17 digits that a double can have. */
const LONG_FRACTIONS = Array.from({ length: 13 }, (_, more) => `[1-9]\\d{${more}}\\.\\d{${17 - more},}`).join(
  '|',
);
const NO_DOUBLE = new RegExp(
  String.raw`${LONG.source}|[+-]?(?:0?\.0*[1-9]\d{17,}|${LONG_FRACTIONS})(?:[eE].*)?`,
);
const IS_CALL = whole(CALL);
/** Digits after the point of an exact number: two where they are enough. */
const EXACT_DIGITS = [2, 9, 20];
const OF_MONEY = [2, 9];

/** How numbers are read. Those of which a double could lose digits are exact; longer ones are none. */
export const NUMBERS: Reading[] = [
  {
    label: 'integer',
    test: (v) =>
      `(${matches(v, INTEGER)} and not ${matches(v, CALL)} and try_cast(${v} as bigint) is not null)`,
    value: (v) => `try_cast(${v} as bigint)`,
    read: reader(INTEGER, ([v]) => (isBigint(v) && !IS_CALL.test(v) ? Number(v) : undefined)),
  },
  {
    ...asDouble(form('number', String.raw`[+-]?[1-9]\d{0,2}\.\d{3}`, []), NO_DOUBLE),
    note: 'points are read as decimal points, which is a guess: all are before three digits',
    noteAt: ';',
  },
  {
    ...asDouble(
      form('number (comma between thousands)', String.raw`[+-]?(?:0|[1-9]\d{0,2}(?:,\d{3})?)`, [[',', '']]),
      NO_DOUBLE,
    ),
    note: 'commas are read as those between thousands, which is a guess: all are before three digits',
  },
  ...FORMS.flatMap((each) => [
    asDouble(each, NO_DOUBLE),
    ...EXACT_DIGITS.map((digits) => exact(each, digits)),
    { ...asDouble(each, LONG), note: 'numbers are rounded to 17 digits: the file has more' },
  ]),
  ...MONEY_FORMS.flatMap((each) => [
    asDouble(each, NO_DOUBLE),
    ...OF_MONEY.map((digits) => exact(each, digits)),
  ]),
];

const IS_WRITTEN = whole(
  new RegExp([...FORMS, ...MONEY_FORMS].map(({ pattern }) => pattern.source).join('|'), 'u'),
);

/** Whether a cell is written as a number in any of the forms. */
export function isWrittenAsNumber(cell: string): boolean {
  return IS_WRITTEN.test(cell);
}

function form(label: string, pattern: string, replaced: NumberForm['replaced']): NumberForm {
  return { label, pattern: new RegExp(pattern, 'u'), replaced };
}

function moneyIn(currency: string): NumberForm[] {
  const sign = currency.replace('$', '\\$');
  const written = (number: string) =>
    `[+-]?${sign}\\p{Zs}?${number}|${sign}-${number}|\\(${sign}\\p{Zs}?${number}\\)|[+-]?${number}\\p{Zs}?${sign}`;
  const replaced: NumberForm['replaced'] = [
    [currency, ''],
    ...SPACES,
    ['(', '-'],
    [')', ''],
    ["'", ''],
    ['’', ''],
  ];
  return [
    form(`number (${currency})`, written(MONEY), [...replaced, [',', '']]),
    form(`number (${currency}, decimal comma)`, written(MONEY_COMMA), [...replaced, ...TO_POINT]),
  ];
}

/** @param left what is not read so */
function asDouble({ label, pattern, replaced }: NumberForm, left: RegExp): Reading {
  const isLeft = whole(left);
  const value = (v: string) => `try_cast(${inSql(v, replaced)} as double)`;
  return {
    label,
    test: (v) =>
      `(${matches(v, pattern)} and isfinite(${value(v)}) and not ${matches(inSql(v, replaced), left)})`,
    value,
    read: reader(pattern, ([v]) => {
      const text = asText(v, replaced);
      return Number.isFinite(Number(text)) && !isLeft.test(text) ? Number(text) : undefined;
    }),
  };
}

function exact({ label, pattern, replaced }: NumberForm, digits: number): Reading {
  const plain = new RegExp(String.raw`-?\d{0,18}(?:\.\d{0,${digits}})?|\+\d{1,6}(?:\.\d{0,${digits}})?`);
  const isPlain = whole(plain);
  return {
    label,
    test: (v) => `(${matches(v, pattern)} and ${matches(inSql(v, replaced), plain)})`,
    value: (v) => `try_cast(${inSql(v, replaced)} as decimal(38,${digits}))`,
    // A table with such a number is left to the engine.
    read: reader(pattern, ([v]) => {
      const text = asText(v, replaced);
      return isPlain.test(text) ? Number(text) : undefined;
    }),
  };
}

function inSql(v: string, replaced: NumberForm['replaced']): string {
  return replaced.reduce((sql, [from, to]) => `replace(${sql}, '${from.replace("'", "''")}', '${to}')`, v);
}

function asText(v: string, replaced: NumberForm['replaced']): string {
  return replaced.reduce((text, [from, to]) => text.replaceAll(from, to), v);
}

function isBigint(v: string): boolean {
  return BigInt.asIntN(64, BigInt(v)) === BigInt(v);
}
