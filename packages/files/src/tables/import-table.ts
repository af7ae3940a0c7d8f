import { count } from '../markdown.js';
import { columnTypes, notesOfTypes, valueOf } from './column-types.js';
import { NULL } from './dialect.js';
import { EngineTable } from './engine-table.js';
import { identifier, literal } from './engine.js';
import type { TableEngine } from './engine.js';
import { beginningOf, endingOf } from './header.js';
import { importJson } from './import-json.js';
import { readableColumns } from './parquet-columns.js';
import { checkWidth, columnNames, FIRST_ROWS, LAST_ROWS, LONGEST_ROW, MAX_COLUMNS } from './table.js';
import type { DelimitedTable, WrittenTable } from './table-source.js';
import { totalsNote, totalsOf } from './total-rows.js';

/** Columns from which the engine needs more memory to read them at once. */
const MANY_COLUMNS = 400;
/** Rows that were left out, and are named. */
const NAMED_ROWS = 5;

/** Reads a table of the workspace into the engine, under a name. */
export function importTable(engine: TableEngine, name: string, written: WrittenTable): Promise<EngineTable> {
  return written.format === 'delimited'
    ? importDelimited(engine, name, written)
    : importTyped(engine, name, written);
}

async function importTyped(
  engine: TableEngine,
  name: string,
  { format, path, notes }: WrittenTable & { format: 'json' | 'parquet' },
): Promise<EngineTable> {
  if (format === 'json')
    return typedTable(engine, name, [...notes, ...(await importJson(engine, name, path))]);
  const read = await readableColumns(engine, path);
  await engine.run(
    `create view ${identifier(name)} as select ${read.columns} from read_parquet(${literal(path)})`,
  );
  return typedTable(engine, name, [...notes, ...read.notes]);
}

/** A table or a view of the engine whose columns have types already. @param notes sentences about the file as it was read */
export async function typedTable(engine: TableEngine, name: string, notes: string[]): Promise<EngineTable> {
  const described = await engine.select(`describe ${identifier(name)}`, MAX_COLUMNS);
  const columns = described.rows.map(([column, type]) => ({
    name: column as string,
    type: typeInWords(type as string),
  }));
  const [rows] = await engine.row(`select count(*) from ${identifier(name)}`);
  const totals = await totalsOf(engine, identifier(name), columns, Number(rows));
  const facts = { rows: Number(rows), columns, hasHeader: undefined, text: undefined };
  return new EngineTable(engine, name, { ...facts, notes: [...notes, ...totalsNote(totals, false)] });
}

async function importDelimited(
  engine: TableEngine,
  name: string,
  table: DelimitedTable,
): Promise<EngineTable> {
  checkWidth(table.width);
  const source = `source.${identifier(name)}`;
  const leftOut = await readText(engine, source, table);
  const cells = Array.from({ length: table.width }, (_, index) => `c${index}`);
  const textsOf = async (where: string) => {
    const found = await engine.select(`select ${cells.join(', ')} from ${source} where ${where}`, FIRST_ROWS);
    return found.rows.map((row) => row.map((cell) => (cell ?? '') as string));
  };
  // The engine numbers the rows as they are in the file. To sort them would take memory for all of them.
  const beginning = table.names ? undefined : beginningOf(await textsOf(`rowid < ${FIRST_ROWS}`));
  const skipped = beginning?.skipped ?? 0;
  const from = `${source}${skipped > 0 ? ` where rowid >= ${skipped}` : ''}`;

  const names = columnNames(table.names ?? beginning?.names ?? [], table.width);
  const [rows] = await engine.row(`select count(*) from ${from}`);
  const last = await textsOf(`rowid >= ${Math.max(skipped, skipped + Number(rows) - LAST_ROWS)}`);
  const select = async (sql: string, limit: number) => (await engine.select(sql, limit)).rows;
  const types = await columnTypes(cells, from, select);
  const values = cells.map((cell, index) => {
    return `${valueOf(cell, types[index]!)} as ${identifier(names[index]!)}`;
  });
  await engine.run(`create view ${identifier(name)} as select ${values.join(', ')} from ${from}`);

  const { delimiter, encoding } = table;
  const columns = names.map((column, index) => ({ name: column, type: types[index]!.label }));
  const ending = endingOf(last);
  const totals = await totalsOf(engine, identifier(name), columns, Number(rows));
  return new EngineTable(engine, name, {
    rows: Number(rows),
    columns,
    hasHeader: beginning && beginning.names !== undefined,
    text: encoding && { delimiter, encoding },
    notes: [
      ...table.notes,
      ...leftOut,
      ...(beginning?.notes ?? []),
      ...ending.notes,
      ...totalsNote(totals, ending.hasTotal),
      ...notesOfTypes(names, types, encoding && delimiter),
    ],
  });
}

/** Reads the cells as texts. @returns sentences about the rows that were left out */
async function readText(engine: TableEngine, source: string, table: DelimitedTable): Promise<string[]> {
  const columns = Array.from({ length: table.width }, (_, index) => `c${index}: 'VARCHAR'`);
  const run = (sql: string) => (table.width > MANY_COLUMNS ? engine.runWithMoreMemory(sql) : engine.run(sql));
  const read = (options: string) =>
    run(
      `create or replace table ${source} as from read_csv(${literal(table.path)}, auto_detect = false, header = false, ` +
        `delim = ${literal(table.delimiter)}, columns = {${columns.join(', ')}}, new_line = '\\n', ` +
        `null_padding = true, nullstr = ['', ${literal(NULL)}], allow_quoted_nulls = false, parallel = false, max_line_size = ${LONGEST_ROW}, ${options})`,
    );
  const quotes = `quote = ${literal(table.quote)}, escape = ${literal(table.quote)}`;
  try {
    await read(quotes);
    return [];
  } catch (error) {
    if (!isBadRow(error)) throw error;
  }
  // Tab-separated values have no quoting (IANA text/tab-separated-values), although most programs write quotes.
  const isTab = table.delimiter === '\t';
  await read(`${isTab ? `quote = ''` : quotes}, ignore_errors = true, store_rejects = true`);
  const { rows } = await engine.select('select distinct line from reject_errors order by line', 1_000_000);
  await engine.run('drop table reject_errors');
  await engine.run('drop table reject_scans');
  if (rows.length === 0) return [];
  const named = rows.slice(0, NAMED_ROWS).map(([row]) => Number(row).toLocaleString('en-US'));
  const more = rows.length > NAMED_ROWS ? ' …' : '';
  return [
    `${count(rows.length, 'row')} left out, with more than ${count(table.width, 'cell')} or wrong quotes: ` +
      `row${rows.length === 1 ? '' : 's'} ${named.join(', ')}${more}, counted from the first row of the table.`,
  ];
}

function isBadRow(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Invalid Input Error: CSV Error');
}

/** The types of the engine, in the words that are used for all tables. */
function typeInWords(type: string): string {
  if (/^U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)$/.test(type)) return 'integer';
  if (/^(FLOAT|DOUBLE|DECIMAL\(.*\))$/.test(type)) return 'number';
  if (type === 'VARCHAR') return 'text';
  if (/^TIMESTAMP/.test(type)) return 'date and time';
  if (type.endsWith('[]')) return 'list';
  if (type.startsWith('STRUCT') || type.startsWith('MAP') || type === 'JSON') return 'object';
  return type.toLowerCase();
}
