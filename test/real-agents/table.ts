import { between, rowsIn, withText } from '../matrix/proxies/table.js';
import { AGENTS } from './agents.js';
import { COLUMNS } from './columns.js';
import { FAULTS } from './known.js';

/** What was seen of an agent: by the keys of the columns, and the figures of the process alone. */
export interface Seen {
  name: string;
  version: string;
  asks: string;
  startSeconds: number;
  megabytes: number;
  cells: Record<string, string>;
}

/** The tables of the page, by the names of their markers. */
export const SUMMARY = 'coding agents';
export const CASES = 'cases of coding agents';

const HEADINGS: Record<string, readonly string[]> = {
  [SUMMARY]: ['Agent', 'Version', 'Asks by itself', 'Start (s)', 'Memory (MB)', 'Known faults'],
  [CASES]: ['Agent', ...Object.values(COLUMNS).map(({ heading }) => heading)],
};

/** Two figures of different runs are the same for `--check`: machines differ. */
const FIGURES: readonly string[] = ['Start (s)', 'Memory (MB)'];

/** The rows of both tables for one agent. */
export function rowsOf({
  name,
  version,
  asks,
  startSeconds,
  megabytes,
  cells,
}: Seen): Record<string, string[]> {
  const figures = [startSeconds.toFixed(1), megabytes.toFixed(0)];
  return {
    [SUMMARY]: [name, version, asks, ...figures, FAULTS[name] ?? 'none'],
    [CASES]: [name, ...Object.keys(COLUMNS).map((key) => cells[key] ?? '–')],
  };
}

/** The page with the rows of these agents. The others stay as they are. */
export function withSeen(page: string, seen: readonly Seen[]): string {
  let text = page;
  for (const table of [SUMMARY, CASES]) {
    const rows = new Map(rowsIn(text, table).map((row) => [row[0], row]));
    for (const one of seen) rows.set(one.name, rowsOf(one)[table]!);
    const inOrder = AGENTS.flatMap(({ name }) => (rows.has(name) ? [rows.get(name)!] : []));
    text = withText(text, table, tableOf(HEADINGS[table]!, inOrder));
  }
  return withText(text, `words of ${CASES}`, legend());
}

/** The cells that are others in the page. Whether an agent still repeats a request after some time depends on the machine. */
export function differencesOf(page: string, seen: readonly Seen[]): string[] {
  return seen.flatMap((one) =>
    [SUMMARY, CASES].flatMap((table) => {
      const documented = rowsIn(page, table).find(([name]) => name === one.name) ?? [];
      return HEADINGS[table]!.flatMap((heading, index) => {
        const cell = rowsOf(one)[table]![index];
        if (cell === documented[index] || FIGURES.includes(heading)) return [];
        if ([cell, documented[index]].some((one) => one?.includes('repeats'))) return [];
        return [`${one.name}: ${heading}: seen "${cell}", documented "${documented[index] ?? ''}"`];
      });
    }),
  );
}

/** What a cell says that no column has. */
export function unknownWordsIn(page: string): string[] {
  const columns = Object.values(COLUMNS);
  return rowsIn(page, CASES).flatMap(([name, ...cells]) =>
    cells.flatMap((cell, index) => {
      const words = columns[index]?.words ?? {};
      const word = cell.replace(/^twice, /, '');
      return Object.hasOwn(words, word) ? [] : [`${name}: ${columns[index]?.heading}: ${cell}`];
    }),
  );
}

/** Whether the page explains the words as they are. */
export const isExplained = (page: string): boolean =>
  inWords(between(page, `words of ${CASES}`)) === inWords(legend());

const inWords = (text: string) => text.split(/\s+/).filter(Boolean).join(' ');

function legend(): string {
  const seen = new Set<object>();
  return Object.values(COLUMNS)
    .flatMap(({ heading, words }) => {
      if (seen.has(words)) return [`- **${heading}**: the same words`];
      seen.add(words);
      return [
        `- **${heading}**`,
        ...Object.entries(words).map(([word, meaning]) => `  - \`${word.trim()}\`: ${meaning}`),
      ];
    })
    .join('\n');
}

function tableOf(headings: readonly string[], rows: readonly string[][]): string {
  return [headings, headings.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
