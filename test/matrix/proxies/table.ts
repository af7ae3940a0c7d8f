import { ARROW, type Column } from './words.js';

/** What was measured of a program, by the keys of the columns. */
export type Cells = Record<string, string>;

/** The columns of a table, by their keys. */
export type Columns = Record<string, Column>;

/** What helps a program. */
export interface Settings {
  /** The lines to write. */
  settings: readonly string[];
  /** The line or section that they belong to, if that is not clear. */
  within?: string | undefined;
}

/** A row of a table: a program without settings, and with those that help, if there are any. */
export interface Row extends Settings {
  name: string;
  version: string;
  plain: Cells;
  set?: Cells | undefined;
}

/** What a table has in its head: the heading of its first column, and its own columns. */
export interface Head {
  first: string;
  columns: Columns;
}

/** The row of a program. */
export function rowOf(program: Settings & { name: string }, version: string, plain: Cells, set?: Cells): Row {
  const { name, settings, within } = program;
  return { name, settings, within, version, plain, set };
}

/** The cells of a row, as the table has them. */
export function cellsOf(row: Row, columns: Columns): string[] {
  const { name, version, plain, set = plain } = row;
  const measured = Object.keys(columns).map((key) =>
    set[key] === plain[key] ? plain[key]! : `${plain[key]}${ARROW}${set[key]}`,
  );
  return [name, version, ...measured, settingsText(row)];
}

/** What to set, as the table says it. */
export function settingsText({ settings, within }: Settings): string {
  if (settings.length === 0) return 'nothing';
  const lines = settings.map((line) => `\`${line}\``).join(', ');
  return within === undefined ? lines : `in \`${within}\`: ${lines}`;
}

/** The headings of a table. */
export function headingsOf({ first, columns }: Head): string[] {
  return [first, 'Version', ...Object.values(columns).map(({ heading }) => heading), 'What to set'];
}

/** The rows between the markers of a table in a document: their cells, without the headings. */
export function rowsIn(text: string, table: string): string[][] {
  const lines = between(text, table)
    .split('\n')
    .filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

/** The document with these rows between the markers of a table. */
export function withRows(text: string, table: string, head: Head, rows: readonly string[][]): string {
  const headings = headingsOf(head);
  const lines = [headings, headings.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return withText(text, table, lines.join('\n'));
}

/** The document with what each word of a table means, between the markers of its legend. */
export function withLegend(text: string, table: string, columns: Columns): string {
  const seen = new Set<object>();
  const parts = Object.values(columns).flatMap(({ heading, words }) => {
    if (seen.has(words)) return [`- **${heading}**: the same words`];
    seen.add(words);
    const meanings = Object.entries(words).map(([word, meaning]) => `  - \`${word}\`: ${meaning}`);
    return [`- **${heading}**`, ...meanings];
  });
  return withText(text, `words of ${table}`, parts.join('\n'));
}

/** The cells of rows that are others in a document. */
export function differences(text: string, table: string, head: Head, rows: readonly Row[]) {
  const inDocument = new Map(rowsIn(text, table).map((cells) => [cells[0], cells]));
  return rows.flatMap((row) => {
    const cells = cellsOf(row, head.columns);
    const others = inDocument.get(row.name) ?? [];
    return headingsOf(head)
      .map((heading, index) => ({ name: row.name, heading, cell: cells[index], documented: others[index] }))
      .filter(({ cell, documented }) => cell !== documented);
  });
}

/** What is between the markers of a part of a document. */
export function between(text: string, name: string): string {
  const [, inside] = pattern(name).exec(text) ?? [];
  if (inside === undefined) throw new Error(`The document has no <!-- ${name} --> … <!-- end -->.`);
  return inside;
}

/** The document with something else between the markers of a part. */
export function withText(text: string, name: string, inside: string): string {
  between(text, name);
  return text.replace(pattern(name), () => `<!-- ${name} -->\n\n${inside}\n\n<!-- end -->`);
}

const pattern = (name: string) => new RegExp(`<!-- ${name} -->\\n([^]*?)<!-- end -->`);
