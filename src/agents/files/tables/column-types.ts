/** How the cells of a column can be read. `v` in SQL is the cell without white space around. */
interface Reading {
  label: string;
  /** Whether a cell is of this type, in SQL. */
  test: (v: string) => string;
  /** The value of such a cell, in SQL. */
  value: (v: string) => string;
}

const DAY_FIRST = `['%d/%m/%Y', '%d.%m.%Y', '%d-%m-%Y']`;
const MONTH_FIRST = `['%m/%d/%Y', '%m-%d-%Y']`;

/** The day, the month and all digits of the year: `1.2.3` is a version, and `03/04/24` says too little. */
const DAY_MONTH_YEAR = String.raw`\d\d?(/\d\d?/|\.\d\d?\.|-\d\d?-)\d{4}`;
const MONTH_DAY_YEAR = String.raw`\d\d?(/\d\d?/|-\d\d?-)\d{4}`;
/** Characters of a date and time without an offset, unless it has parts of a second. */
const WITHOUT_OFFSET = 19;

const matches = (v: string, pattern: string) => `regexp_full_match(${v}, '${pattern}')`;
const isDouble = (v: string) => `isfinite(try_cast(${v} as double))`;
const decimalPoint = (v: string) => `replace(replace(${v}, '.', ''), ',', '.')`;
const withoutCommas = (v: string) => `replace(${v}, ',', '')`;

/** A column has the first of these types that all its cells have. */
const READINGS: Reading[] = [
  {
    label: 'boolean',
    test: (v) => `lower(${v}) in ('true', 'false', 'yes', 'no')`,
    value: (v) => `lower(${v}) in ('true', 'yes')`,
  },
  {
    // A zero in front belongs to a code, such as a postal code.
    label: 'integer',
    test: (v) => `${matches(v, '[+-]?(0|[1-9]\\d{0,17})')}`,
    value: (v) => `try_cast(${v} as bigint)`,
  },
  {
    label: 'number',
    test: (v) =>
      `(${matches(v, '[+-]?((0|[1-9]\\d*)(\\.\\d*)?|\\.\\d+)([eE][+-]?\\d+)?')} and ${isDouble(v)})`,
    value: (v) => `try_cast(${v} as double)`,
  },
  {
    label: 'number (comma between thousands)',
    test: (v) => matches(v, '[+-]?(0|[1-9]\\d{0,2}(,\\d{3})*)(\\.\\d+)?'),
    value: (v) => `try_cast(${withoutCommas(v)} as double)`,
  },
  {
    label: 'number (decimal comma)',
    test: (v) => matches(v, '[+-]?((0|[1-9]\\d*|[1-9]\\d{0,2}(\\.\\d{3})+)(,\\d+)?|,\\d+)'),
    value: (v) => `try_cast(${decimalPoint(v)} as double)`,
  },
  {
    label: 'date',
    test: (v) => `(${matches(v, '\\d{4}-\\d\\d-\\d\\d')} and try_cast(${v} as date) is not null)`,
    value: (v) => `try_cast(${v} as date)`,
  },
  {
    label: 'date and time',
    test: (v) =>
      `(${matches(v, '\\d{4}-\\d\\d-\\d\\d([T ]\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:?\\d\\d)?)?)?')} ` +
      `and try_cast(${v} as timestamp) is not null)`,
    // In UTC. The engine takes several times as long for values that may have an offset.
    value: (v) =>
      `case when length(${v}) > ${WITHOUT_OFFSET} then timezone('UTC', try_cast(${v} as timestamptz)) ` +
      `else try_cast(${v} as timestamp) end`,
  },
  {
    label: 'date (day first)',
    test: (v) => `(${matches(v, DAY_MONTH_YEAR)} and try_strptime(${v}, ${DAY_FIRST}) is not null)`,
    value: (v) => `cast(try_strptime(${v}, ${DAY_FIRST}) as date)`,
  },
  {
    label: 'date (month first)',
    test: (v) => `(${matches(v, MONTH_DAY_YEAR)} and try_strptime(${v}, ${MONTH_FIRST}) is not null)`,
    value: (v) => `cast(try_strptime(${v}, ${MONTH_FIRST}) as date)`,
  },
];

/** What stands for a missing value in a column of numbers, dates or similar. In a column of texts it is a text: `NA` is Namibia. */
const MARKERS = `('na', 'n/a', '#n/a', 'null', 'nan', 'none', '-')`;
/** Rows that show which types are worth a look at all rows. */
const SAMPLE = 1000;

/** The type of a column, and its values in SQL. */
export interface ColumnType {
  label: string;
  value: string;
  /** Cells that stand for a missing value, and are read as one. */
  markers: number;
}

/** Executes a statement and returns its only row. */
type SelectRow = (sql: string) => Promise<unknown[]>;

/**
 * Finds the types of columns of texts. Every cell is looked at, so that a query never fails because of a later one.
 *
 * @param columns names in SQL
 * @param from the rows, in SQL: a table with its condition
 */
export async function columnTypes(columns: string[], from: string, row: SelectRow): Promise<ColumnType[]> {
  const all = columns.map(() => READINGS);
  const possible = await possibleReadings(columns, `(from ${from} limit ${SAMPLE})`, all, row);
  const found = await possibleReadings(
    columns,
    `(from ${from})`,
    possible.map(({ readings }) => readings),
    row,
  );
  return columns.map((column, index) => typeOf(column, found[index]!));
}

interface Possible {
  present: number;
  markers: number;
  readings: Reading[];
}

async function possibleReadings(
  columns: string[],
  from: string,
  candidates: Reading[][],
  row: SelectRow,
): Promise<Possible[]> {
  const cells = columns.map((column, index) => `trim(${column}) as v${index}`);
  const figures = columns.flatMap((_, index) => {
    const v = `v${index}`;
    const isMarker = `lower(${v}) in ${MARKERS}`;
    return [
      `count(*) filter (${v} <> '')`,
      `count(*) filter (${isMarker})`,
      ...candidates[index]!.map(
        ({ test }) => `count(*) filter (${v} <> '' and not ${isMarker} and not coalesce(${test(v)}, false))`,
      ),
    ];
  });
  const counts = (
    await row(`select ${figures.join(', ')} from (select ${cells.join(', ')} from ${from})`)
  ).map(Number);
  return columns.map((_, index) => {
    const [present = 0, markers = 0, ...failures] = counts.splice(0, candidates[index]!.length + 2);
    return { present, markers, readings: candidates[index]!.filter((_, at) => failures[at] === 0) };
  });
}

function typeOf(column: string, { present, markers, readings }: Possible): ColumnType {
  const text = { value: `case when trim(${column}) <> '' then ${column} end`, markers: 0 };
  if (present === 0) return { label: 'empty', ...text };
  if (present === markers) return { label: 'text', ...text };
  const [first] = readings;
  if (!first) return { label: 'text', ...text };
  if (first.label === 'date (day first)' && readings.some(({ label }) => label === 'date (month first)')) {
    return { label: 'text (dates; which number is the day is not certain)', ...text };
  }
  const v = `trim(${column})`;
  const value = `case when ${v} <> '' and lower(${v}) not in ${MARKERS} then ${first.value(v)} end`;
  return { label: first.label, value, markers };
}
