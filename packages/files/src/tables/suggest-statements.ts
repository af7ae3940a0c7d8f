import type { Suggestion } from 'nest-agent-query';
import type { FilesLimits } from '../files-limits.js';
import { plain } from '../markdown.js';
import type { NamedTable } from './catalog.js';
import { identifier, literal, TableEngine } from './engine.js';
import { importTable } from './import-table.js';
import { readQuestion } from './question.js';
import type { Filter, TableQuestion } from './question.js';
import type { Period } from './question-words.js';
import type { Column, Table } from './table.js';
import { isPlainName } from './table-names.js';
import type { ValuesOf } from './words-of-table.js';
import type { Workspace } from './workspace.js';

/** Bytes of a file whose columns are looked at: to import a larger one takes longer than a person waits. */
const LARGEST = 128 * 1024 * 1024;
/** Different values of a column that are compared with the words of a question. */
const MOST_VALUES = 10_000;
/** Columns that are compared with them. */
const MOST_COLUMNS = 40;

/** Statements about a table, and how much of a question they are about. */
export interface Statements {
  about: Suggestion[];
  always: Suggestion[];
  score: number;
}

/** Statements about a table: first those about the columns and values that a question names. */
export async function suggestStatements(
  { name, source, size }: NamedTable,
  text: string,
  limits: FilesLimits,
  workspace: Workspace,
): Promise<Statements> {
  const read = (table: Table) => {
    const columns = table.columns.slice(0, MOST_COLUMNS);
    return suggestedFor(text, name, columns, (index) => table.different(index, MOST_VALUES));
  };
  const none = () => suggestedFor('', name, [], () => Promise.resolve(undefined));
  if (text === '') return none();
  const small = await source.small?.();
  if (small) return read(small);
  if (size > LARGEST) return none();
  const written = await source.write(workspace);
  const engine = await TableEngine.open(workspace, [written.path], limits);
  try {
    return await read(await importTable(engine, 'suggested', written));
  } finally {
    engine.close();
  }
}

/** The same for a table with these columns. */
export async function suggestedFor(
  text: string,
  table: string,
  columns: Column[],
  valuesOf: ValuesOf,
): Promise<Statements> {
  const always = [
    { text: `select * from ${table} limit 5`, label: `First rows of ${table}` },
    { text: `summarize ${table}`, label: 'Figures of each column' },
  ];
  if (text === '') return { about: [], always, score: 0 };
  const question = await readQuestion(text, table, columns, valuesOf);
  return { about: statementsAbout(table, question), always, score: question.score };
}

/** A value that is computed of rows: its SQL, its name in the result, and what it is in words. */
interface Computed {
  sql: string;
  as: string;
  label: string;
}

const COUNT: Computed = { sql: 'count(*)', as: 'n', label: 'Number of rows' };
const FORMATS: Record<Period, string> = { day: '%Y-%m-%d', month: '%Y-%m', year: '%Y' };

function statementsAbout(table: string, question: TableQuestion): Suggestion[] {
  const { groups, period, date, time, order, number } = question;
  const from = `from ${table}${where(question.filters)}`;
  const computed = computedOf(question);
  const keys = [
    ...periodKey(date, period),
    ...groups.map((column) => ({ sql: nameOf(column), label: shown(column) })),
  ];
  const kept = question.filters.map(labelOf).join(', ');
  const label = (text: string) => (kept === '' ? text : `${text}: ${kept}`);
  if (keys.length > 0) {
    const by = (what: Computed, ...besides: Computed[]) =>
      grouped(from, keys, [what, ...besides], question, label);
    if (computed.as === COUNT.as) return [by(computed), chartOf(by(computed))];
    return [by(computed, COUNT), chartOf(by(computed)), by(COUNT)];
  }
  const rows: Suggestion[] = [];
  const down = order === 'least' ? '' : ' desc';
  if (order && number)
    rows.push({
      text: `select * ${from} order by ${nameOf(number)}${down} limit 5`,
      label: label(`Rows with the ${order === 'least' ? 'smallest' : 'largest'} ${shown(number)}`),
    });
  if (time && date)
    rows.push({
      text: `select * ${from} order by ${nameOf(date)}${time === 'newest' ? ' desc' : ''} limit 5`,
      label: label(time === 'newest' ? 'Newest rows' : 'Oldest rows'),
    });
  const isAboutRows = question.filters.length > 0 && rows.length === 0;
  const matching = isAboutRows ? [{ text: `select * ${from}`, label: label('Rows') }] : [];
  const isComputed = question.figure !== undefined || number !== undefined;
  const one = { text: `select ${computed.sql} as ${computed.as} ${from}`, label: label(computed.label) };
  const result = isComputed ? [one] : [];
  return question.figure === undefined && rows.length === 0
    ? [...matching, ...result]
    : [...(order ? [...rows, ...result] : [...result, ...rows]), ...matching];
}

function computedOf({ figure, number, counted, groups, order }: TableQuestion): Computed {
  if (counted)
    return {
      sql: `count(distinct ${nameOf(counted)})`,
      as: 'n',
      label: `Number of different ${shown(counted)}`,
    };
  if (!number || figure === 'count' || figure === 'distinct') return COUNT;
  const name = nameOf(number);
  if (figure === 'mean') return { sql: `avg(${name})`, as: 'mean', label: `Mean of ${shown(number)}` };
  if (figure === 'sum' || groups.length === 0 || order === undefined)
    return { sql: `sum(${name})`, as: 'total', label: `Sum of ${shown(number)}` };
  const isLeast = order === 'least';
  return {
    sql: `${isLeast ? 'min' : 'max'}(${name})`,
    as: isLeast ? 'smallest' : 'largest',
    label: `${isLeast ? 'Smallest' : 'Largest'} ${shown(number)}`,
  };
}

interface Key {
  sql: string;
  as?: string;
  label: string;
}

function periodKey(date: Column | undefined, period: Period | undefined): Key[] {
  if (!date || !period) return [];
  return [{ sql: `strftime(${nameOf(date)}, '${FORMATS[period]}')`, as: period, label: period }];
}

function grouped(
  from: string,
  keys: Key[],
  computed: [Computed, ...Computed[]],
  { period, order }: TableQuestion,
  label: (text: string) => string,
): Suggestion {
  const [first] = computed;
  const selected = [...keys, ...computed].map(({ sql, as }) => (as === undefined ? sql : `${sql} as ${as}`));
  const places = keys.map((_, index) => index + 1).join(', ');
  const by = keys.some((key) => key.as) ? places : keys.map((key) => key.sql).join(', ');
  const sorted = period && !order ? places : `${first.as}${order === 'least' ? '' : ' desc'}`;
  const what = first === COUNT ? 'Count' : first.label;
  return {
    text: `select ${selected.join(', ')} ${from} group by ${by} order by ${sorted}`,
    label: label(`${what} by ${keys.map((key) => key.label).join(' and ')}`),
  };
}

function chartOf({ text, label = '' }: Suggestion): Suggestion {
  return { text: `${text} as chart`, label: `Chart: ${label}` };
}

function where(filters: Filter[]): string {
  return filters.length === 0 ? '' : ` where ${filters.map(conditionOf).join(' and ')}`;
}

function conditionOf(filter: Filter): string {
  const name = nameOf(filter.column);
  if (filter.kind === 'compare') return `${name} ${filter.operator} ${filter.limit}`;
  if (filter.kind !== 'values') return `${filter.kind}(${name}) = ${filter.number}`;
  const [first, ...more] = filter.values.map(literal);
  return more.length === 0 ? `${name} = ${first}` : `${name} in (${[first, ...more].join(', ')})`;
}

function labelOf(filter: Filter): string {
  if (filter.kind === 'compare') return `${shown(filter.column)} ${filter.operator} ${filter.limit}`;
  if (filter.kind === 'values') return filter.values.map((value) => plain(value, 30)).join(', ');
  return `${filter.kind} ${filter.number}`;
}

function nameOf({ name }: Column): string {
  return isPlainName(name) ? name : identifier(name);
}

function shown({ name }: Column): string {
  return plain(name, 40);
}
