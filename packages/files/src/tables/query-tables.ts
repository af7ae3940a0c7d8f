import { performance } from 'node:perf_hooks';
import type { Suggestion } from 'nest-agent-query';
import type { Attachments } from '../answer.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { SEND_TABLES } from '../formats/archive.js';
import { block, code, table as markdownTable } from '../markdown.js';
import { ifReadable } from '../reading-stopped.js';
import { ONLY_READING } from '../request.js';
import type { FilesRequest, ResultForm } from '../request.js';
import { archiveFiles } from '../sections/archive-entries.js';
import { UnreadableFile } from '../unreadable-file.js';
import { catalogOf } from './catalog.js';
import type { NamedTable } from './catalog.js';
import { CHART_ROWS, chartOf } from './chart.js';
import type { EngineTable } from './engine-table.js';
import { TableEngine } from './engine.js';
import type { Result, TimeLimit } from './engine.js';
import { isEngineError, isOutOfMemory } from './engine-errors.js';
import { exportChart, exportResult, keepResult, keepRows, RESULT } from './export-result.js';
import { importTable, typedTable } from './import-table.js';
import { SHOWN_ROWS, showTable } from './result-forms.js';
import { profileOf, profileRows } from './table-profile.js';
import { notesOf } from './table.js';
import type { Workspace } from './workspace.js';

/** Tables that one statement may use. */
const MAX_TABLES = 20;
const LISTED_COLUMNS = 30;
const WHAT_IS_A_TABLE =
  'Tables are CSV, TSV, NDJSON, Parquet and SQLite files, sheets, and in JSON arrays of objects such as `{"data": [{"id": 1}]}`.';

/** The answer to a statement. */
export interface TablesAnswer extends Attachments {
  text: string;
}

/** Executes a statement on the tables of files. */
export async function queryTables(
  { statement, as }: FilesRequest & { kind: 'sql' },
  files: FileSource[],
  limits: FilesLimits,
  workspace: Workspace,
): Promise<TablesAnswer> {
  const begun = performance.now();
  const catalog = await catalogOf(files, limits, workspace);
  if (catalog.length === 0) return { text: await noTables(files, limits) };
  if (/^show\s+tables$/i.test(statement)) return { text: listOf(catalog) };
  const used = catalog.filter(({ name, source }) => !source.fault && mentions(statement, name));
  if (used.length > MAX_TABLES)
    return { text: `A statement may use ${MAX_TABLES} tables; this one uses ${used.length}.` };
  const written = [];
  for (const { source } of used) written.push(await source.write(workspace));
  const path = await workspace.newPath();
  const engine = await TableEngine.open(workspace, [...written.map((each) => each.path), path], limits);
  try {
    const tables: EngineTable[] = [];
    for (const [index, { name, file }] of used.entries()) {
      tables.push(await imported(engine, name, file, written[index]!));
    }
    await engine.lock();
    const { directory } = workspace;
    const time = { begun, seconds: limits.seconds };
    return await execute({ engine, statement, as, tables, catalog, path, directory, time });
  } finally {
    engine.close();
  }
}

async function imported(
  engine: TableEngine,
  name: string,
  file: string,
  written: Parameters<typeof importTable>[2],
): Promise<EngineTable> {
  try {
    return await importTable(engine, name, written);
  } catch (error) {
    if (!isEngineError(error)) throw error;
    throw new UnreadableFile(`${code(file)} cannot be read as a table: it is broken, or too large.`);
  }
}

/** A statement, and what it is executed on. */
interface Execution {
  engine: TableEngine;
  statement: string;
  as: ResultForm;
  tables: EngineTable[];
  catalog: NamedTable[];
  /** Where a file of the answer is written. */
  path: string;
  /** The directory of the workspace. */
  directory: string;
  time: TimeLimit;
}

async function execute(execution: Execution): Promise<TablesAnswer> {
  const { engine, statement, tables, catalog, directory, time } = execution;
  try {
    if (!(await isOneSelect(engine, statement))) return { text: ONLY_READING };
    const { text, ...attachments } = await engine.within(time, () => resultOf(execution));
    return { text: `${notesOf(tables)}${text}`, ...attachments };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    if (isOutOfMemory(error)) return { text: 'This statement takes more memory than is spent on one.' };
    const explained = explain(withoutPath(error.message, directory), tables, catalog);
    return { text: `${notesOf(tables)}${explained}` };
  }
}

async function resultOf(execution: Execution): Promise<TablesAnswer> {
  const { engine, statement, as, tables, path, directory } = execution;
  const summarized = await summarizedTable(engine, statement, tables);
  if (as === 'table') {
    if (summarized) return { text: withoutPath(await profileOf(summarized), directory) };
    const result = withoutPath(await engine.select(statement, SHOWN_ROWS), directory);
    const suggestions = [...chartOffer(statement, result), ...(result.isCut ? filesOf(statement) : [])];
    return { text: showTable(result), ...(suggestions.length > 0 && { suggestions }) };
  }
  if (as === 'chart') {
    const result = summarized
      ? await profileRows(summarized)
      : withoutPath(await engine.select(statement, CHART_ROWS), directory);
    return exportChart(result, { name: nameOfFile(statement, tables), path });
  }
  if (summarized) await keepRows(engine, await profileRows(summarized));
  else await keepResult(engine, statement);
  return exportResult(engine, as, { name: nameOfFile(statement, tables), path, hidden: directory });
}

/** A whole table keeps its name. */
function nameOfFile(statement: string, tables: EngineTable[]): string {
  const [, name] = /^select\s+\*\s+from\s+"?([^"\s]+)"?$/i.exec(statement) ?? [];
  return tables.find((table) => table.name === name?.toLowerCase())?.name ?? 'result';
}

/** The table of `summarize`: its figures are those of the description of a file, and not the estimates of the engine. */
async function summarizedTable(
  engine: TableEngine,
  statement: string,
  tables: EngineTable[],
): Promise<EngineTable | undefined> {
  const [, what] = /^summarize\s+(.+)$/is.exec(statement) ?? [];
  if (what === undefined) return undefined;
  const name = what.replace(/^"(.*)"$/s, '$1').toLowerCase();
  const table = tables.find((each) => each.name === name);
  if (table) return table;
  await keepResult(engine, /^select\s/i.test(what) ? what : `from ${what}`);
  return typedTable(engine, RESULT, []);
}

/** The request for a chart, where all rows of a result fit into one. */
function chartOffer(statement: string, result: Result): Suggestion[] {
  const isWhole = !result.isCut && result.rows.length <= CHART_ROWS;
  const isDrawn = isWhole && result.rows.length > 1 && !hasComment(statement);
  if (!isDrawn || typeof chartOf(result) === 'string') return [];
  return [{ text: `${statement} as chart`, label: 'As a chart' }];
}

/** The requests for all rows of a result. */
function filesOf(statement: string): Suggestion[] {
  if (hasComment(statement)) return [];
  return [
    { text: `${statement} as csv`, label: 'All rows as CSV' },
    { text: `${statement} as parquet`, label: 'All rows as Parquet' },
  ];
}

/** A comment at the end of a statement would hide what follows. */
function hasComment(statement: string): boolean {
  return statement.includes('--');
}

/**
 * A value in which the path of the workspace is replaced: the settings of the engine have it, and it says something about the
 * machine. It is no secret, and gives access to nothing: the lock of the engine is what protects the machine.
 */
function withoutPath<T>(value: T, directory: string): T {
  const [path, shown] = [directory, '(workspace)'].map((text) => JSON.stringify(text).slice(1, -1));
  const json = JSON.stringify(value);
  return json.includes(path!) ? (JSON.parse(json.replaceAll(path!, shown!)) as T) : value;
}

async function isOneSelect(engine: TableEngine, statement: string): Promise<boolean> {
  const { StatementType } = await import('@duckdb/node-api');
  const statements = await engine.connection.extractStatements(statement);
  if (statements.count !== 1) return false;
  const prepared = await statements.prepare(0);
  const { statementType } = prepared;
  prepared.destroySync();
  return statementType === StatementType.SELECT;
}

/** The error of a statement with its position, the columns of its tables, and the tables that there are. */
function explain(error: string, tables: EngineTable[], catalog: NamedTable[]): string {
  const message = error
    .replace(/^Failed to extract statements: /, '')
    .replace(/^Permission Error: .*?(?=\n|$)/, 'No other files can be read.');
  const [, what = '', position = ''] =
    /^(?:[A-Z][\w ]*Error: )?(.*?)(?:\n\n(LINE \d+: .*))?$/s.exec(message) ?? [];
  const parts = [`This statement cannot be executed: ${code(what.split('\n')[0]!, 300)}`];
  if (position !== '') parts.push(block(position.slice(0, 1000)));
  for (const { name, columns } of tables) {
    const names = columns.slice(0, LISTED_COLUMNS).map((column) => code(column.name, 60));
    const more = columns.length > LISTED_COLUMNS ? ' …' : '';
    parts.push(`Columns of ${code(name)}: ${names.join(', ')}${more}.`);
  }
  parts.push(...(tables.length === 0 ? [listOf(catalog)] : faultsOf(catalog)));
  return parts.join('\n\n');
}

function listOf(catalog: NamedTable[]): string {
  const rows = catalog.map(({ name, file, source }) => [
    code(name),
    code(file),
    source.sheet === undefined ? '' : code(source.sheet, 40),
  ]);
  const all = markdownTable(['table', 'file', 'sheet or table'], rows);
  return [`The tables are:\n\n${all}`, ...faultsOf(catalog)].join('\n\n');
}

function faultsOf(catalog: NamedTable[]): string[] {
  return catalog.flatMap(({ name, source }) => (source.fault ? [`${code(name)} ${source.fault}.`] : []));
}

async function noTables(files: FileSource[], limits: FilesLimits): Promise<string> {
  if (files.length === 0) {
    return 'There are no tables: send files along, or name the session in which they were sent.';
  }
  const sentence = `There are no tables in ${files.length === 1 ? 'this file' : `these ${files.length} files`}.`;
  for (const file of files) {
    if (await ifReadable(archiveFiles(file, limits))) return `${sentence} ${SEND_TABLES}`;
  }
  return `${sentence} ${WHAT_IS_A_TABLE}`;
}

/** Whether a statement has the name of a table as a word. To read a table in vain only costs time. */
function mentions(statement: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'iu').test(statement);
}
