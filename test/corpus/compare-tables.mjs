/** What the service says about tables, compared with what another reader sees. */

/** What readers take for a missing value in a column of numbers. */
const MISSING = /^(?:|#?N\/A|#NA|-?nan|NA|null|none|n\/a|<NA>|\\N)$/i;

/** Digits with a zero or a plus in front are no number: they are codes. */
const NUMBER = /^-?(?:(?:0|[1-9]\d{0,17})(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const NUMERIC = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/;

/** Sums of other orders of additions differ. */
const TOLERANCE = 1e-9;

/** A longer statement would be taken for a text. */
const MOST_SUMS = 200;

/** A file of more tables would take minutes. */
const MOST_TABLES = 12;

/**
 * Asks for the tables of a file: names and sums of their columns.
 *
 * @param ask asks about the file
 * @returns the tables with `name`, `columns` (each with its name, whether it is of numbers, and the sum), and the number of `rows`
 */
export async function tablesOf(ask) {
  const { text } = await ask('show tables');
  const named = [...text.matchAll(/^\| `(.+?)` \| `.*?` \| (?:`(.*)`)? ?\|$/gm)];
  const tables = [];
  for (const [, table, name] of named.slice(0, MOST_TABLES))
    tables.push({ name, ...(await tableOf(ask, table)) });
  return tables;
}

async function tableOf(ask, table) {
  const described = await valueOf(ask, `describe ${table} as json`);
  const columns = described.map((row) => ({
    name: row.column_name,
    isNumber: NUMERIC.test(row.column_type),
  }));
  const numbers = columns.filter(({ isNumber }) => isNumber).slice(0, MOST_SUMS);
  const sums = numbers.map(({ name }, at) => `, sum("${name.replaceAll('"', '""')}")::double as s${at}`);
  const [total] = await valueOf(ask, `select count(*) as n${sums.join('')} from ${table} as json`);
  numbers.forEach((column, at) => (column.sum = total[`s${at}`]));
  return { columns, rows: total.n };
}

async function valueOf(ask, request) {
  const { text, value } = await ask(request);
  if (!value) throw new Error(text.trim());
  return value;
}

/** @returns the differences: what differs, what the service says, and what the other reader sees */
export function differencesOfTables(ours, theirs) {
  const isOne = ours.length === 1 && theirs.length === 1;
  return theirs.slice(0, MOST_TABLES).flatMap((table) => {
    const same = isOne ? ours[0] : ours.find(({ name }) => name === table.name);
    const differences = same ? differencesOfTable(same, table) : [];
    if (!same && table.rows.length > 0) differences.push(['no table', 'none', `${table.rows.length} rows`]);
    const place = theirs.length > 1 ? ` of ${table.name}` : '';
    return differences.map(([what, here, there]) => ({ what: what + place, ours: here, theirs: there }));
  });
}

function differencesOfTable(ours, theirs) {
  const further = ours.columns.length - theirs.columns.length;
  const isWide = theirs.areFeatures ? further >= 0 : further === 0;
  return [
    ...(ours.rows === theirs.rows.length ? [] : [['rows', ours.rows, theirs.rows.length]]),
    ...(isWide
      ? differencesOfColumns(ours, theirs)
      : [['columns', ours.columns.length, theirs.columns.length]]),
  ];
}

/** All columns that differ in the same are one difference. */
function differencesOfColumns(ours, theirs) {
  const found = theirs.columns.flatMap((name, at) => {
    const isSame = (each) => each !== undefined && isSameName(each.name, name);
    const column = theirs.areUnordered ? ours.columns.find(isSame) : ours.columns[at];
    if (!isSame(column)) return [['names', column?.name, name]];
    const values = theirs.rows.map((row) => row[at]);
    return differencesOfNumbers(column, numbersOf(values, theirs.areTexts));
  });
  return [...new Set(found.map(([what]) => what))].map((what) => {
    const same = found.filter((each) => each[0] === what);
    const [here, there] = [1, 2].map((side) => same.slice(0, 4).map((each) => each[side]));
    return [
      what,
      here.join(', '),
      `${there.join(', ')} (${same.length} of ${theirs.columns.length} columns)`,
    ];
  });
}

function differencesOfNumbers(column, numbers) {
  if (!numbers || (column.isNumber && column.sum === undefined)) return [];
  const [sum, size] = [(each) => each, Math.abs].map((of) =>
    numbers.reduce((all, each) => all + of(each), 0),
  );
  if (!column.isNumber) return [['types', `${column.name} is no number`, `sum ${sum}`]];
  const isSame = Math.abs(sum - column.sum) <= TOLERANCE * Math.max(size, 1);
  return isSame ? [] : [['sums', `${column.name} ${column.sum}`, sum]];
}

/** A column without a name, and the second of a name, get one. */
function isSameName(ours, theirs) {
  const plain = theirs.replace(/\s+/g, ' ').trim();
  return plain === '' || ours.replace(/\s+/g, ' ').trim() === plain || ours.startsWith(`${plain}_`);
}

/** The numbers of a column; undefined if a value is something else, or none is there. */
function numbersOf(values, areTexts) {
  const present = values.filter((value) => !MISSING.test(String(value ?? '').trim()));
  const isNumber = (value) =>
    /^(?:number|bigint)$/.test(typeof value) || (areTexts && NUMBER.test(value.trim()));
  return present.length > 0 && present.every(isNumber) ? present.map(Number) : undefined;
}
