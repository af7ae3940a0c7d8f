import { code, count } from '../markdown.js';
import { identifier, literal } from './engine.js';
import type { JsonValue, TableEngine } from './engine.js';
import { showValue } from './result-forms.js';
import { isNumber } from './table.js';
import type { Column } from './table.js';

/** Columns of texts and of numbers that are looked at: the names of totals are in front. */
const NAMES = 3;
const NUMBERS = 10;
/** Rows from which a table has no totals: to look for them takes time. */
const MOST_ROWS = 1_000_000;
/** Names that a sentence shows. */
const SHOWN = 3;

const TOTAL = new RegExp(
  String.raw`(?:.{1,30}[ -])?(?:sub|grand)?totals?(?:[ (].{1,30})?|(?:zwischen|gesamt|end|teil)?summen?(?: .{1,30})?|` +
    'gesamt(?:ergebnis)?|.{1,30} ergebnis|insgesamt|durchschnitt|sum|average|mean|Σ|somme|moyenne|(?:sub)?totale|' +
    'somma|totaal|suma|summa|razem|celkem|toplam|yhteensä|итого|всего|合[计計]|总计|総計|小[计計]|합계|소계|총계|المجموع',
);
const IS_TOTAL = new RegExp(`^(?:${TOTAL.source}):?$`, 'iu');
const IN_SQL = literal(`(?i)(?:${TOTAL.source}):?`);

/** Whether a cell is what the row of a total is named. */
export function isTotal(cell: string): boolean {
  return IS_TOTAL.test(cell);
}

/**
 * A sentence about rows that look like totals, whatever row they are; none if there are none.
 *
 * @param names what the first of these rows are named
 * @param told whether it is said of the last row already
 */
export function totalsNote({ rows, names }: Totals, told: boolean): string[] {
  const others = rows - (told ? 1 : 0);
  if (others <= 0) return [];
  const shown = [...new Set(names.slice(0, others))].map((name) => code(name, 60)).join(', ');
  const read = count(others, told ? 'more row' : 'row');
  return [`What looks like a total is read as ${read}: ${shown}.`];
}

/** Rows that look like totals, and what the first of them are named. */
export interface Totals {
  rows: number;
  names: string[];
}

/** The totals of a table that is in memory. @param valueOf the value of a column in a row */
export function totalsIn<Row>(
  rows: Row[],
  columns: Column[],
  valueOf: (row: Row, column: number) => JsonValue,
): Totals {
  const { names, numbers } = totalColumns(columns);
  const found = rows.flatMap((row) => {
    const name = names
      .map((at) => valueOf(row, at))
      .find((value) => value !== null && isTotal(showValue(value).trim()));
    return name !== undefined && numbers.some((at) => valueOf(row, at) !== null) ? [showValue(name)] : [];
  });
  return { rows: found.length, names: found.slice(0, SHOWN) };
}

/** The totals of a table of the engine. @param table its name in SQL */
export async function totalsOf(
  engine: TableEngine,
  table: string,
  columns: Column[],
  rows: number,
): Promise<Totals> {
  const { names, numbers } = totalColumns(columns);
  if (names.length === 0 || numbers.length === 0 || rows > MOST_ROWS) return { rows: 0, names: [] };
  const inSql = (at: number) => identifier(columns[at]!.name);
  const tests = names.map((at) => `regexp_full_match(trim(${inSql(at)}), ${IN_SQL})`);
  const name = names.map((at, index) => `when ${tests[index]} then ${inSql(at)}`).join(' ');
  const hasNumber = `coalesce(${numbers.map(inSql).join(', ')}) is not null`;
  const found = await engine.select(
    `select case ${name} end, count(*) over () from ${table} where (${tests.join(' or ')}) and ${hasNumber}`,
    SHOWN,
  );
  return { rows: Number(found.rows[0]?.[1] ?? 0), names: found.rows.map(([cell]) => cell as string) };
}

/** The places of the columns that show whether a row is a total. */
function totalColumns(columns: Column[]): { names: number[]; numbers: number[] } {
  const placesOf = (is: (column: Column) => boolean, most: number) =>
    columns.flatMap((column, at) => (is(column) ? [at] : [])).slice(0, most);
  return {
    names: placesOf(({ type }) => type.startsWith('text'), NAMES),
    numbers: placesOf(isNumber, NUMBERS),
  };
}
