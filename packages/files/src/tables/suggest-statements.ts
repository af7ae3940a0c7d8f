import type { Suggestion } from 'nest-agent-query';
import type { FilesLimits } from '../files-limits.js';
import { plain } from '../markdown.js';
import type { NamedTable } from './catalog.js';
import { identifier, TableEngine } from './engine.js';
import { importTable } from './import-table.js';
import { isNested, isNumber } from './table.js';
import type { Column } from './table.js';
import { isPlainName } from './table-names.js';
import type { Workspace } from './workspace.js';

/** Bytes of a file whose columns are looked at: to import a larger one takes long. */
const LARGEST = 8 * 1024 * 1024;

/** Statements about a table: first those about the columns that a question names. */
export async function suggestStatements(
  table: NamedTable,
  words: string[],
  limits: FilesLimits,
  workspace: Workspace,
): Promise<Suggestion[]> {
  const columns = words.length === 0 ? [] : await columnsOf(table, limits, workspace);
  const asked = words.filter((word) => word !== table.name);
  const named = columns.filter((column) => isNamedBy(column, asked));
  const number = named.find(isNumber);
  const group = named.find((column) => !isNumber(column) && !isNested(column));
  return [
    ...statementsAbout(table.name, number, group),
    { text: `select * from ${table.name} limit 5`, label: `First rows of ${table.name}` },
    { text: `summarize ${table.name}`, label: 'Figures of each column' },
  ];
}

function statementsAbout(table: string, number?: Column, group?: Column): Suggestion[] {
  const figures = number && figuresOf(nameOf(number));
  if (group) {
    const name = nameOf(group);
    const label = number ? `Sum of ${shown(number)} by ${shown(group)}` : `Count by ${shown(group)}`;
    const selected = [name, 'count(*) as n', ...(figures ?? [])].join(', ');
    return [{ text: `select ${selected} from ${table} group by ${name} order by n desc`, label }];
  }
  if (!figures) return [];
  return [{ text: `select ${figures.join(', ')} from ${table}`, label: `Sum and mean of ${shown(number)}` }];
}

function figuresOf(name: string): string[] {
  return [`sum(${name}) as total`, `avg(${name}) as mean`];
}

/** Whether a question has all words of the name of a column. */
function isNamedBy({ name }: Column, words: string[]): boolean {
  const parts = [...name.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)].map(([part]) => part);
  return (
    parts.length > 0 && parts.every((part) => words.some((word) => word === part || word === `${part}s`))
  );
}

function nameOf({ name }: Column): string {
  return isPlainName(name) ? name : identifier(name);
}

function shown({ name }: Column): string {
  return plain(name, 40);
}

async function columnsOf(
  { source, size }: NamedTable,
  limits: FilesLimits,
  workspace: Workspace,
): Promise<Column[]> {
  const small = await source.small?.();
  if (small) return small.columns;
  if (size > LARGEST) return [];
  const written = await source.write(workspace);
  const engine = await TableEngine.open(workspace, [written.path], limits);
  try {
    return (await importTable(engine, 'suggested', written)).columns;
  } finally {
    engine.close();
  }
}
