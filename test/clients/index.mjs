/**
 * Asks the service with the clients that people have, and writes what was seen into the tables of docs/clients.md. It needs what
 * `npm run build` and `npm run adapters -- build` have built, and installs the clients here.
 *
 *     npm run clients                          # all: less than ten minutes
 *     npm run clients -- --only openai-chat    # those; the other rows stay
 *     npm run clients -- --check               # writes nothing, and fails where a cell differs
 */
import { readFile, writeFile } from 'node:fs/promises';
import { register } from 'node:module';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';
import { measuring } from '../matrix/proxies/opened.mjs';
import { installClients } from './install.mjs';
import { Service } from './service.mjs';

register('../support/typescript-hooks.mjs', import.meta.url);

const DOCUMENT = join(resolve(import.meta.dirname, '../..'), 'docs/clients.md');

await measuring(main);

async function main({ only, check }, opened) {
  const { TABLES } = await import('./tables.ts');
  const all = Object.values(TABLES).flatMap(({ clients }) => clients);
  const chosen = chosenOf(all, only?.split(','));
  await installClients();
  const { rows, failures } = await asked(chosen, opened);
  // A busy machine may be why a row differs, so it is asked a second time.
  const differing = new Set((await differencesOf(rows, TABLES)).map(({ name }) => name));
  const again = await asked(
    chosen.filter(({ name }) => differing.has(name)),
    opened,
  );
  const last = [...rows.filter(({ name }) => !differing.has(name)), ...again.rows];
  for (const failure of [...failures, ...again.failures]) console.error(failure);
  if (last.length < chosen.length) process.exitCode = 1;
  await (check ? compare : write)(last, TABLES);
}

/** Asks clients, with a service that has not heard of them. */
async function asked(clients, opened) {
  const { measure } = await import('./measure.mjs');
  const service = await opened.keep(() => Service.start());
  const seen = await measure(clients, service, opened);
  await opened.stop(service);
  return seen;
}

function chosenOf(all, names) {
  const keys = all.map(({ key }) => key);
  const unknown = names?.filter((name) => !keys.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`There is no ${unknown.join(', ')}. There are: ${keys.join(', ')}.`);
  return all.filter(({ key }) => !names || names.includes(key));
}

/** Writes the rows that were measured. The others stay as they are. */
async function write(rows, tables) {
  const { cellsOf, rowsIn, withLegend, withRows } = await import('../matrix/proxies/table.ts');
  const { withFaults } = await import('./faults.ts');
  const { COLUMNS } = await import('./words.ts');
  let text = await readFile(DOCUMENT, 'utf8');
  for (const [table, head] of Object.entries(tables)) {
    const cells = new Map(rowsIn(text, table).map((row) => [row[0], row]));
    for (const row of rowsOf(head, rows)) cells.set(row.name, cellsOf(row, head.columns));
    const inOrder = head.clients.flatMap(({ name }) => (cells.has(name) ? [cells.get(name)] : []));
    text = withRows(text, table, head, inOrder);
  }
  text = withFaults(withLegend(text, 'clients', COLUMNS));
  const options = { ...(await resolveConfig(DOCUMENT)), filepath: DOCUMENT };
  await writeFile(DOCUMENT, await format(text, options));
  console.log('docs/clients.md has what was seen.');
}

/** Says which cells differ from the document. */
async function compare(rows, tables) {
  const all = await differencesOf(rows, tables);
  for (const { name, heading, cell, documented } of all)
    console.error(`${name}: ${heading}: seen "${cell}", documented "${documented}"`);
  if (all.length > 0) process.exitCode = 1;
  console.log(all.length > 0 ? `${all.length} cells differ.` : 'All cells that were seen are as documented.');
}

async function differencesOf(rows, tables) {
  const { differences } = await import('../matrix/proxies/table.ts');
  const text = await readFile(DOCUMENT, 'utf8');
  return Object.entries(tables).flatMap(([table, head]) =>
    differences(text, table, head, rowsOf(head, rows)),
  );
}

function rowsOf({ clients }, rows) {
  return rows.filter((row) => clients.some(({ name }) => name === row.name));
}
