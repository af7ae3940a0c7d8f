/** Cells that look like values and not like names. */
const NUMBER = /^[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?\s*%?$/;
const DATE = /^(\d{4}-\d\d-\d\d([T ].*)?|\d\d?[./-]\d\d?[./-]\d{2,4})$/;
const BOOLEAN = /^(true|false|yes|no)$/i;
const YEAR = /^(1[5-9]|20|21)\d\d$/;

/**
 * Whether the first row of a table names the columns. A cell that can be read as a number, a date or similar is a value, and
 * no name. But years and dates are names if they are different, and the cells below them are something else: `city, 2019, 2020`.
 *
 * @param rows the first rows, whose first one is in question
 */
export function hasHeader([first = [], ...others]: string[][]): boolean {
  const named = first.filter((cell) => cell.trim() !== '');
  if (named.length * 2 <= first.length) return false;
  const areDifferent = new Set(named).size === named.length;
  return first.every((cell, column) => {
    const name = cell.trim();
    if (!isValue(name)) return true;
    const period = [YEAR, DATE].find((pattern) => pattern.test(name));
    const below = others.map((row) => row[column]?.trim() ?? '').filter((value) => value !== '');
    if (!period || !areDifferent || below.length === 0) return false;
    return below.filter((value) => period.test(value)).length * 2 < below.length;
  });
}

function isValue(cell: string): boolean {
  return NUMBER.test(cell) || DATE.test(cell) || BOOLEAN.test(cell);
}
