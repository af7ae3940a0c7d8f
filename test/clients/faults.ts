import { rowsIn, withText } from '../matrix/proxies/table.js';
import { ARROW } from '../matrix/proxies/words.js';
import type { Client } from './programs.js';
import { TABLES } from './tables.js';

/** What a cell must not say where everything is set. */
const FAULTS = /\b(?:no(?! reason)|none|pieces repeated|hidden|waits|again|twice|asks on|unhandled)\b/;

const HEADINGS = ['Client', 'Column', 'Seen', 'Why, if it is the package'];

/** The document with the faults that its tables show, between their markers. */
export function withFaults(text: string): string {
  const lines = [HEADINGS, HEADINGS.map(() => '---'), ...faultsIn(text)];
  return withText(text, 'faults', lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n'));
}

/** The faults that the tables of a document show: client, column, cell, and the reason where it is the package. */
export function faultsIn(text: string): string[][] {
  return Object.entries(TABLES).flatMap(([table, { columns, clients }]) =>
    rowsIn(text, table).flatMap((row) => {
      const client = clients.find(({ name }) => name === row[0])!;
      return Object.entries(columns).flatMap(([key, { heading }], index) =>
        faultOf(client, key, heading, row[index + 2]!),
      );
    }),
  );
}

function faultOf({ name, reasons }: Client, key: string, heading: string, cell: string): string[][] {
  const seen = cell.split(ARROW).at(-1)!;
  return FAULTS.test(seen) ? [[name, heading, seen, reasons?.[key] ?? '–']] : [];
}
