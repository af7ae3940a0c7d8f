import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What the package says of itself. This is a CommonJS file because `import.meta` is a syntax error where a host's Jest compiles
 * the package to CommonJS, and `__dirname` works everywhere.
 */
export const MANIFEST = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')) as {
  name: string;
  version: string;
};
