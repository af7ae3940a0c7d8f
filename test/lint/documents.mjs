/** Checks how long the documents and their lines are: a part of `npm run lint`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const MAX_WIDTH = 120;
const MAX_LINES = { 'README.md': 120, 'packages/*/README.md': 60 };

const folders = ['.', 'docs', ...inside('examples'), ...inside('packages')];
const faults = folders.flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => faultsOf(join(folder, name))),
);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;

function inside(folder) {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

function faultsOf(document) {
  const lines = readFileSync(join(ROOT, document), 'utf8').trimEnd().split('\n');
  // An event is one line, and so is a row of a table.
  const isWide = (line) => line.length > MAX_WIDTH && !/^(data: |\| )/.test(line);
  const wide = lines.flatMap((line, index) =>
    isWide(line) ? [`${document}:${index + 1} has ${line.length} characters, more than ${MAX_WIDTH}.`] : [],
  );
  const most = MAX_LINES[document.replace(/^packages\/[^/]+/, 'packages/*')] ?? Infinity;
  if (lines.length > most) wide.push(`${document} has ${lines.length} lines, more than ${most}.`);
  return wide;
}
