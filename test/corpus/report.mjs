import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { format, resolveConfig } from 'prettier';

const DOCUMENT = join(resolve(import.meta.dirname, '../..'), 'docs/files-corpus.md');

/** Prints the differences of a file. */
export function printDifferences({ file, differences }) {
  for (const { what, ours, theirs, known } of differences) {
    const said = `${file}: ${what}: ${ours}; other reader: ${theirs}`;
    console.log(known ? `known: ${said} (${known.reason})` : `UNKNOWN: ${said}`);
  }
}

/**
 * Prints the table, and writes it into the document.
 *
 * @param known the groups of the list
 * @returns how many differences are not known
 */
export async function report(examined, known, { packages, missing, isWhole, isWritten }) {
  if (isWhole) printGone(known);
  const unknown = examined.flatMap(({ differences }) => differences.filter((each) => !each.known)).length;
  console.log(`${examined.length} files, ${unknown} unknown differences.`);
  const rows = rowsOf(examined);
  console.log(rows.map((row) => row.join('\t')).join('\n'));
  if (isWritten) await write(rows, known, packages, missing);
  return unknown;
}

function printGone(known) {
  for (const { what, files, seen = new Set() } of known)
    for (const file of files.filter((each) => !seen.has(each)))
      console.log(`No longer there: ${file}: ${what.join(', ')}. Remove it from known.json.`);
}

function rowsOf(examined) {
  const kinds = [...new Set(examined.map(({ kind }) => kind))];
  const rows = kinds.map((kind) => [kind, examined.filter((each) => each.kind === kind)]);
  return [...rows, ['all', examined]].map(([name, files]) => {
    const seconds = files.map((each) => each.seconds).sort((a, b) => a - b);
    const count = (isCounted) => files.filter(isCounted).length;
    return [
      name,
      files.length,
      count(({ isWrong, isRead, isCompared }) => !isWrong && isRead && isCompared),
      count(({ isWrong, isRead, isCompared }) => !isWrong && isRead && !isCompared),
      count(({ isWrong }) => isWrong),
      count(({ isWrong, isRead }) => !isWrong && !isRead),
      seconds[Math.floor(seconds.length / 2)].toFixed(2),
      seconds.at(-1).toFixed(2),
    ];
  });
}

async function write(rows, known, packages, missing) {
  const text = await readFile(DOCUMENT, 'utf8');
  const head = ['Kind', 'Files', 'Right', 'Described', 'Wrong', 'Named only', 'Median s', 'Longest s'];
  const table = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  const wrong = known.filter(({ isFault }) => isFault);
  const faults = wrong.map(({ reason, files }) => `- ${reason} Files: ${files.length}.`);
  const versions = packages.map(({ name, version }) => `${name} ${version}`).join(', ');
  const absent = missing.length > 0 ? `\n\nNot here: ${missing.join('; ')}.` : '';
  const said = `Seen on ${new Date().toISOString().slice(0, 10)} with Node ${process.versions.node}.`;
  const written = `<!-- seen -->\n\n${said}\n\n${table}\n\n${faults.join('\n')}\n\nThe packages: ${versions}.${absent}\n`;
  const options = {
    ...(await resolveConfig(DOCUMENT)),
    filepath: DOCUMENT,
    proseWrap: 'always',
    printWidth: 120,
  };
  await writeFile(DOCUMENT, await format(text.replace(/<!-- seen -->[^]*/, written), options));
  console.log('docs/files-corpus.md has what was seen.');
}
