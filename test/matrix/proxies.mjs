/**
 * Measures what proxies and poolers do with the service, and writes it into the tables of docs/proxies.md. It needs what
 * `npm run build` has built, and Debian, whose packages it unpacks into a temporary folder.
 *
 *     npm run proxies                            # all: about eight minutes
 *     npm run proxies -- --only nginx,apache     # those; the other rows stay
 *     npm run proxies -- --check                 # writes nothing, and fails where a cell differs
 *
 * `.ci/unpack DIRECTORY all` gets the packages for several runs, and says how programs are found in them.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';
import { run } from './commands.mjs';
import { measuring } from './proxies/opened.mjs';

register('../support/typescript-hooks.mjs', import.meta.url);

const ROOT = resolve(import.meta.dirname, '../..');
const DOCUMENT = join(ROOT, 'docs/proxies.md');

await measuring(main);

async function main({ only, check }, opened) {
  const unpack = await preparedFolder(opened);
  const { TABLES } = await import('./proxies/tables.ts');
  const { measureProxies } = await import('./proxies/measure-proxies.mjs');
  const { measurePoolers } = await import('./proxies/measure-poolers.mjs');
  const measures = { proxies: measureProxies, poolers: measurePoolers };
  const wanted = namesIn(only, TABLES);
  await unpack();
  const measured = new Map();
  for (const [table, { programs }] of Object.entries(TABLES)) {
    const chosen = programs.filter(({ key }) => !wanted || wanted.includes(key));
    if (chosen.length === 0) continue;
    const { rows, failures } = await measures[table](chosen, opened);
    for (const failure of failures) console.error(failure);
    if (failures.length > 0) process.exitCode = 1;
    measured.set(table, rows);
  }
  await (check ? compare : write)(measured, TABLES);
}

/**
 * Says where the packages are to what is loaded after it.
 *
 * @returns a function that unpacks them there, unless somebody has done it before
 */
async function preparedFolder(opened) {
  if (process.env.UNPACKED_PACKAGES) return () => undefined;
  const directory = await mkdtemp(join(tmpdir(), 'packages-'));
  await opened.keep(async () => ({ stop: () => rm(directory, { recursive: true, force: true }) }));
  process.env.UNPACKED_PACKAGES = join(directory, 'unpacked');
  process.env.PATH = `${join(directory, 'offered')}${delimiter}${process.env.PATH}`;
  return () => {
    console.log('Unpacking the packages of Debian …');
    return run(join(ROOT, '.ci/unpack'), [directory, 'all']);
  };
}

function namesIn(only, tables) {
  const names = only?.split(',');
  const keys = Object.values(tables).flatMap(({ programs }) => programs.map(({ key }) => key));
  const unknown = names?.filter((name) => !keys.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`There is no ${unknown.join(', ')}. There are: ${keys.join(', ')}.`);
  return names;
}

/** Writes the rows that were measured. The others stay as they are. */
async function write(measured, tables) {
  const { cellsOf, rowsIn, withLegend, withRows } = await import('./proxies/table.ts');
  let text = await readFile(DOCUMENT, 'utf8');
  for (const [table, rows] of measured) {
    const { programs, columns } = tables[table];
    const cells = new Map(rowsIn(text, table).map((row) => [row[0], row]));
    for (const row of rows) cells.set(row.name, cellsOf(row, columns));
    const inOrder = programs.flatMap(({ name }) => (cells.has(name) ? [cells.get(name)] : []));
    text = withLegend(withRows(text, table, tables[table], inOrder), table, columns);
  }
  const options = { ...(await resolveConfig(DOCUMENT)), filepath: DOCUMENT };
  await writeFile(DOCUMENT, await format(text, options));
  console.log('docs/proxies.md has what was measured.');
}

/** Says which cells differ from the document. Another version alone is no failure: other machines have others. */
async function compare(measured, tables) {
  const { differences } = await import('./proxies/table.ts');
  const text = await readFile(DOCUMENT, 'utf8');
  const all = [...measured].flatMap(([table, rows]) => differences(text, table, tables[table], rows));
  for (const { name, heading, cell, documented } of all)
    console.error(`${name}: ${heading}: measured "${cell}", documented "${documented}"`);
  const count = all.filter(({ heading }) => heading !== 'Version').length;
  if (count > 0) process.exitCode = 1;
  console.log(count > 0 ? `${count} cells differ.` : 'All cells that were measured are as documented.');
}
