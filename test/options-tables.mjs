/**
 * Writes what the table of variables says into the tables of docs/options.md: the default and the meaning of each variable.
 * `npm run options` executes it on what `npm run build` has built. A test compares the two.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { ROWS } from '../dist/internals.js';

const path = join(import.meta.dirname, '../docs/options.md');
const variables = new Map(ROWS.map(([name, variable]) => [`\`${name}\``, variable]));

const lines = readFileSync(path, 'utf8')
  .split('\n')
  .map((line) => {
    if (!line.startsWith('|')) return line;
    const cells = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
    const variable = variables.get(cells[1]);
    if (!variable) return line;
    const { value, means } = variable;
    // Of what a store keeps, each kind of store has its own default.
    const isPlain = cells.length === 4 && value !== '' && value !== undefined && value !== Infinity;
    if (isPlain) cells[2] = `\`${value}\``;
    cells[cells.length - 1] = means;
    return `| ${cells.join(' | ')} |`;
  });
writeFileSync(path, await format(lines.join('\n'), { ...(await resolveConfig(path)), filepath: path }));
