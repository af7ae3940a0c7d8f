import { isMissing, isNumber, SHOWN_NUMBER } from '../answer/shown-number.js';

/** The character before the decimals. */
export type Decimal = '.' | ',';

/** The numbers of a column. */
export interface Numbers {
  /** Undefined where a number is missing. */
  values: (number | undefined)[];
  /** What stands before each of them, such as `€`, and after it, such as `%`; empty if nothing does. */
  before: string;
  after: string;
}

/** Characters between groups of digits that are never a decimal point. */
const SPACES = /[ \u00a0\u2009\u202f'’_]/g;
const SPACED = /^\d{1,3}(?:[ \u00a0\u2009\u202f'’_]\d{3})+(?=[.,]|$)/;

interface Parts {
  digits: string;
  exponent: string;
  isNegative: boolean;
  before: string;
  after: string;
}

/**
 * Reads a column of numbers as they are shown. All must have the same unit and the same decimal point.
 *
 * @param decimal what the rest of the table has before its decimals: `1,204` alone does not say
 * @returns undefined if they are no numbers, or of several kinds; also identifiers such as `0042`
 */
export function readNumbers(texts: string[], decimal: Decimal = '.'): Numbers | undefined {
  const parts = texts.map((text) => (isMissing(text) ? undefined : partsOf(text)));
  if (texts.some((text, at) => !isMissing(text) && parts[at] === undefined)) return undefined;
  const filled = parts.filter((each) => each !== undefined);
  const [first] = filled;
  if (!first) return undefined;
  const { before, after } = first;
  if (filled.some((each) => each.before !== before || each.after !== after)) return undefined;
  const said = decimalsOf(filled.map(({ digits }) => digits));
  if (said.size > 1) return undefined;
  const point = [...said][0] ?? decimal;
  const values = parts.map((each) => each && valueOf(each, point));
  if (parts.some((each, at) => each && values[at] === undefined)) return undefined;
  return { values, before, after };
}

/** The characters before decimals in a column, as far as its numbers say which: both, if they contradict each other. */
export function decimalsIn(texts: string[]): Set<Decimal> {
  return decimalsOf(texts.flatMap((text) => partsOf(text)?.digits ?? []));
}

function decimalsOf(digits: string[]): Set<Decimal> {
  return new Set(digits.flatMap((each) => decimalOf(each) ?? []));
}

function partsOf(text: string): Parts | undefined {
  if (!isNumber(text)) return undefined;
  const { open, sign, inner, close, digits = '', before = '', after = '' } = SHOWN_NUMBER.exec(text)!.groups!;
  if ((open === undefined) !== (close === undefined) || (sign !== undefined && inner !== undefined))
    return undefined;
  const [, mantissa = '', exponent = ''] = /^(.*?)([eE].*)?$/.exec(digits.trim())!;
  const joined = mantissa.replace(SPACES, '');
  if (joined !== mantissa && !SPACED.test(mantissa)) return undefined;
  return {
    digits: joined,
    exponent,
    isNegative: open !== undefined || /[-−–]/.test(sign ?? inner ?? ''),
    before: before.trim(),
    after: after.trim(),
  };
}

/** The character before the decimals of one number, if it says which: `1.204,5` and `12.5` do, and `1,204` does not. */
function decimalOf(digits: string): Decimal | undefined {
  const points = digits.match(/[.,]/g) as Decimal[] | null;
  if (points === null) return undefined;
  const last = points.at(-1)!;
  if (new Set(points).size > 1) return last;
  if (points.length > 1) return last === '.' ? ',' : '.';
  const [whole = '', decimals = ''] = digits.split(last);
  return decimals.length === 3 && /^[1-9]\d{0,2}$/.test(whole) ? undefined : last;
}

/** @returns undefined if the groups of digits have no regular lengths, or a zero stands before them */
function valueOf({ digits, exponent, isNegative }: Parts, decimal: Decimal): number | undefined {
  const [whole = '', decimals = '', ...more] = digits.split(decimal);
  const group = decimal === '.' ? ',' : '\\.';
  const isRegular = new RegExp(`^(?:\\d*|\\d{1,3}(?:${group}\\d{2,3})*${group}\\d{3})$`).test(whole);
  if (more.length > 0 || !isRegular || /\D/.test(decimals) || /^0\d/.test(whole)) return undefined;
  const value = Number(`${whole.replace(/\D/g, '')}.${decimals}0${exponent}`);
  if (!Number.isFinite(value)) return undefined;
  return isNegative ? -value : value;
}
