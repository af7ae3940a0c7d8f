import { setInterval } from 'node:timers';
import { stat, writeFile } from 'node:fs/promises';
import type { WrittenFile } from '../answer.js';
import { bytes, code, count } from '../markdown.js';
import type { ResultForm } from '../request.js';
import { UnreadableFile } from '../unreadable-file.js';
import { CHART_ROWS, chartOf } from './chart.js';
import { drawChart } from './chart-svg.js';
import { identifier, literal } from './engine.js';
import type { JsonValue, Result, TableEngine } from './engine.js';
import { rowsTable, showValue } from './result-forms.js';

/** How a result becomes a file. */
export type FileForm = Exclude<ResultForm, 'table' | 'chart'>;

/** Bytes of a file. A service takes 256 MiB for one file of an answer, unless its host says otherwise. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Milliseconds between two looks at the size of a file that is written. */
const CHECK_MS = 20;
/** Rows that the text of the answer shows. */
const SHOWN_ROWS = 5;

/** The table that holds a result. No table of a file has such a name. */
export const RESULT = '(result)';

const FORMS: Record<FileForm, { mimeType: string; options: string }> = {
  csv: { mimeType: 'text/csv', options: 'format csv, header true' },
  json: { mimeType: 'application/json', options: 'format json, array true' },
  parquet: { mimeType: 'application/vnd.apache.parquet', options: 'format parquet' },
};

/** Keeps the rows of a statement that has been checked to be one that reads. Its text may end with a comment. */
export async function keepResult(engine: TableEngine, statement: string): Promise<void> {
  await engine.run(`create or replace temp table ${identifier(RESULT)} as from (${statement}\n)`);
}

/** The same with rows that are known. */
export async function keepRows(engine: TableEngine, { columns, rows }: Result): Promise<void> {
  const values = rows.map((row) => `(${row.map(inSql).join(', ')})`);
  const names = columns.map(identifier).join(', ');
  await keepResult(engine, `from (values ${values.join(', ')}) rows(${names})`);
}

/**
 * Writes the result that is kept to a file, which the engine must be allowed to access.
 *
 * @param hidden a text of which no file says anything: the path of the workspace
 * @returns the file, and what the text of the answer says about it
 * @throws {UnreadableFile} if the file would be too large, or have the text
 */
export async function exportResult(
  engine: TableEngine,
  form: FileForm,
  { name, path, hidden }: { name: string; path: string; hidden: string },
): Promise<{ file: WrittenFile; text: string }> {
  await checkTexts(engine, hidden);
  const { mimeType, options } = FORMS[form];
  const rowsOf = await rowsFor(engine, form);
  await withinSize(engine, path, `copy (${rowsOf}) to ${literal(path)} (${options}, use_tmp_file false)`);
  const first = await engine.select(`from ${identifier(RESULT)}`, SHOWN_ROWS);
  const [rows] = await engine.row(`select count(*) from ${identifier(RESULT)}`);
  const { size } = await stat(path);
  const file = { name: `${name}.${form}`, mimeType, path };
  const facts = `${count(Number(rows), 'row')} of ${count(first.columns.length, 'column')}, ${bytes(size)}`;
  const title = first.isCut ? ' It begins:' : '';
  const beginning = rows === 0 ? '' : `${title}\n\n${rowsTable(first)}`;
  return { file, text: `${code(file.name)} has ${facts}.${beginning}` };
}

/**
 * Draws the first rows of a result, and writes the chart to a file.
 *
 * @returns the file, and what the text of the answer says about it; only a sentence if there is no chart of the result
 */
export async function exportChart(
  result: Result,
  { name, path }: { name: string; path: string },
): Promise<{ file?: WrittenFile; text: string }> {
  const chart = chartOf(result);
  if (typeof chart === 'string') return { text: chart };
  await writeFile(path, drawChart(chart), { mode: 0o600, flag: 'wx' });
  const file = { name: `${name}.svg`, mimeType: 'image/svg+xml', path };
  const rows = count(chart.points.length, 'row');
  const more = result.isCut || result.rows.length > CHART_ROWS ? `the first ${rows}; there are more` : rows;
  const what = `${code(file.name)} is ${chart.kind === 'line' ? 'a line' : 'a chart with bars'} of ${more}.`;
  return { file, text: `${what}\n\n${rowsTable({ ...result, rows: result.rows.slice(0, CHART_ROWS) })}` };
}

/** The settings of the engine have the path of the workspace. A text of an answer hides it, but no file can be changed so. */
async function checkTexts(engine: TableEngine, hidden: string): Promise<void> {
  const { rows } = await engine.select(`describe ${identifier(RESULT)}`, Infinity);
  const texts = rows.filter(([, type]) => /CHAR|JSON|BLOB|UNION|ENUM/.test(type as string));
  if (texts.length === 0) return;
  const has = texts.map(
    ([column]) => `contains(cast(${identifier(column as string)} as varchar), ${literal(hidden)})`,
  );
  const [found] = await engine.row(`select count(*) from ${identifier(RESULT)} where ${has.join(' or ')}`);
  if (found !== 0)
    throw new UnreadableFile('What the engine says about itself is no file: ask without `as`.');
}

/**
 * The rows of the result as a form can have them. Parquet has no integers of 128 bits, such as sums are: the engine would write
 * doubles. In CSV, lists and objects are JSON: the engine would write texts without quotes.
 */
async function rowsFor(engine: TableEngine, form: FileForm): Promise<string> {
  const { rows } = await engine.select(`describe ${identifier(RESULT)}`, Infinity);
  const changed = rows.flatMap(([name, type]) => {
    const column = identifier(name as string);
    if (form === 'parquet' && type === 'HUGEINT') return [`cast(${column} as decimal(38, 0)) as ${column}`];
    const isNested = /^(STRUCT|MAP|UNION)|\]$/.test(type as string);
    return form === 'csv' && isNested ? [`to_json(${column}) as ${column}`] : [];
  });
  const replaced = changed.length > 0 ? ` replace (${changed.join(', ')})` : '';
  return `select *${replaced} from ${identifier(RESULT)}`;
}

async function withinSize(engine: TableEngine, path: string, sql: string): Promise<void> {
  let isTooLarge = false;
  const timer = setInterval(() => {
    void stat(path).then(
      ({ size }) => {
        isTooLarge ||= size > MAX_BYTES;
        if (isTooLarge) engine.connection.interrupt();
      },
      () => undefined,
    );
  }, CHECK_MS);
  try {
    await engine.run(sql);
    isTooLarge ||= (await stat(path)).size > MAX_BYTES;
  } catch (error) {
    if (!isTooLarge) throw error;
  } finally {
    clearInterval(timer);
  }
  if (isTooLarge)
    throw new UnreadableFile(`A file of an answer has at most ${bytes(MAX_BYTES)}. Ask for less.`);
}

function inSql(value: JsonValue): string {
  if (value === null) return 'null';
  return typeof value === 'number' ? String(value) : literal(showValue(value));
}
