import type { ReadFile } from 'nest-agent-query-more-files';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import type { Encoding } from '../formats/code-pages.js';
import { headingOf } from '../formats/findings.js';
import type { Findings } from '../formats/findings.js';
import { preferredDelimiter } from '../formats/text-kind.js';
import { code, count } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { databaseTables } from './database-tables.js';
import { delimitedSource } from './delimited-text.js';
import { isEngineError, isOutOfMemory } from './engine-errors.js';
import { TableEngine } from './engine.js';
import { importTable } from './import-table.js';
import { sourcesOf } from './more-tables.js';
import { profileOf, sampleOf, sizeOf } from './table-profile.js';
import type { TableSource, WrittenTable } from './table-source.js';
import type { Table } from './table.js';
import { tablesOf } from './tables-of.js';
import type { Workspace } from './workspace.js';

/** Tables of one file that are described, at most. */
const DESCRIBED = 5;
/** What the names of tables begin with while they are described. */
const NAME = 'table';

const SEPARATORS = new Map([
  [',', 'commas'],
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'pipes'],
]);

/** Describes delimited text: its size, first rows and columns. */
export async function* describeDelimited(
  file: FileSource,
  encoding: Encoding,
  limits: FilesLimits,
  workspace: Workspace,
): Findings {
  const source = delimitedSource(() => bytesOf(file), encoding, preferredDelimiter(file.name));
  const small = await source.small();
  const written = small ? undefined : await source.write(workspace);
  const { delimiter } = small?.text ?? written!;
  yield headingOf(delimiter === '\t' ? 'TSV table' : 'CSV table', file);
  const read: TableSource = {
    sheet: undefined,
    small: () => Promise.resolve(small),
    write: () => Promise.resolve(written!),
  };
  yield* eachTable([read], limits, workspace, (table) => {
    const separator = SEPARATORS.get(delimiter) ?? code(delimiter);
    const header = table.hasHeader ? 'the first line names the columns' : 'no line of column names';
    const encoded = `Encoding: ${table.text!.encoding.name}.`;
    return factsOf(table, `${sizeOf(table)}, separated by ${separator}; ${header}. ${encoded}`);
  });
}

/** Describes a Parquet file. */
export async function* describeParquet(
  file: FileSource,
  limits: FilesLimits,
  workspace: Workspace,
): Findings {
  yield headingOf('Parquet table', file);
  try {
    yield* eachTable(await tablesOf(file, limits, workspace), limits, workspace, (table) =>
      factsOf(table, `${sizeOf(table)}.`),
    );
  } catch (error) {
    if (!isEngineError(error)) throw error;
    throw new UnreadableFile('This Parquet file is broken or cut off.');
  }
}

/** Describes a SQLite database. */
export async function* describeDatabase(
  file: FileSource,
  limits: FilesLimits,
  workspace: Workspace,
): Findings {
  yield headingOf('SQLite database', file);
  const sources = await databaseTables(file, workspace);
  yield `${count(sources.length, 'table')}.`;
  yield* eachNamed(sources, limits, workspace);
}

/** Describes the tables that another package reads of a file. */
export async function* describeMore(
  file: FileSource,
  read: ReadFile,
  limits: FilesLimits,
  workspace: Workspace,
): Findings {
  yield `${headingOf(read.title, file)}${read.facts.join(' ')}`;
  const sources = sourcesOf(read);
  if (sources[0]?.sheet !== undefined) return yield* eachNamed(sources, limits, workspace);
  yield* eachTable(sources, limits, workspace, (table) => factsOf(table, ` ${sizeOf(table)}.`));
}

/** Describes tables that have names of their own, and says why others cannot be read. */
async function* eachNamed(sources: TableSource[], limits: FilesLimits, workspace: Workspace): Findings {
  const readable = sources.filter(({ fault }) => fault === undefined);
  yield* eachTable(readable.slice(0, DESCRIBED), limits, workspace, async (table, { sheet }) => {
    return `\n\nTable ${code(sheet!, 60)}: ${await factsOf(table, `${sizeOf(table)}.`)}`;
  });
  const others = readable.slice(DESCRIBED).map(({ sheet }) => code(sheet!, 60));
  if (others.length > 0) yield `\n\nFurther tables: ${others.join(', ')}.`;
  for (const { sheet, fault } of sources) if (fault) yield `\n\nTable ${code(sheet!, 60)} ${fault}.`;
}

/** Describes the columns of the sheets of a workbook whose rows have been described, or of layers of shapes. Nothing if it has no tables. */
export async function* describeSheets(file: FileSource, limits: FilesLimits, workspace: Workspace): Findings {
  const all = await tablesOf(file, limits, workspace);
  const sources = all.filter(({ fault }) => fault === undefined).slice(0, DESCRIBED);
  yield* eachTable(sources, limits, workspace, async (table, { sheet, layer }) => {
    if (layer !== undefined)
      return `\n\nLayer ${code(sheet!, 60)}: ${await factsOf(table, `${layer} Its attributes: ${sizeOf(table)}.`)}`;
    if (table.rows === 0 && table.notes.length === 0) return '';
    const facts = [`${sizeOf(table)}.`, ...table.notes].join(' ');
    if (table.rows === 0) return `\n\nSheet ${code(sheet!, 40)} as a table: ${facts}`;
    return `\n\nColumns of sheet ${code(sheet!, 40)}: ${facts}\n\n${await profileOf(table)}`;
  });
  for (const { sheet, layer, fault } of all)
    if (layer && fault) yield `\n\nLayer ${code(sheet!, 60)} ${fault}.`;
}

/** Describes the tables of a text whose other properties have been described. Nothing if it has no tables. */
export async function* describeTables(file: FileSource, limits: FilesLimits, workspace: Workspace): Findings {
  const sources = await tablesOf(file, limits, workspace);
  try {
    if (sources[0]?.sheet !== undefined) return yield* eachNamed(sources, limits, workspace);
    yield* eachTable(sources, limits, workspace, async (table) =>
      table.rows === 0 ? '' : `\n\nAs a table: ${await factsOf(table, `${sizeOf(table)}.`)}`,
    );
  } catch (error) {
    if (!isEngineError(error)) throw error;
    // JSON may be in order without being a table.
    if (sources[0]?.sheet !== undefined)
      yield '\n\nThe next table cannot be read: it is broken, or has too large rows.';
  }
}

/** Reads tables, and says something about each of them. Those that are not small have one engine. */
async function* eachTable(
  sources: TableSource[],
  limits: FilesLimits,
  workspace: Workspace,
  describe: (table: Table, source: TableSource) => Promise<string>,
): Findings {
  const read: (Table | WrittenTable)[] = [];
  for (const source of sources) read.push((await source.small?.()) ?? (await source.write(workspace)));
  const paths = read.flatMap((table) => ('path' in table ? [table.path] : []));
  const engine = paths.length > 0 ? await TableEngine.open(workspace, paths, limits) : undefined;
  try {
    for (const [index, table] of read.entries()) {
      const known = 'path' in table ? await importTable(engine!, `${NAME}_${index}`, table) : table;
      yield await describe(known, sources[index]!);
    }
  } catch (error) {
    throw isOutOfMemory(error)
      ? new UnreadableFile('This table takes more memory than is spent on one file.')
      : error;
  } finally {
    engine?.close();
  }
}

async function factsOf(table: Table, facts: string): Promise<string> {
  const parts = [[facts, ...table.notes].join(' ')];
  if (table.rows > 0) parts.push(await sampleOf(table));
  parts.push(await profileOf(table));
  return parts.join('\n\n');
}
