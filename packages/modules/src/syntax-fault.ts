import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const WALK_MS = 10_000;

/** Where a syntax error is. */
export interface SyntaxFault {
  message: string;
  path: string;
  line: number;
  /** From 1. */
  column: number;
  /** The line; undefined where it is not known. */
  source: string | undefined;
}

/**
 * Finds the place of a syntax error.
 *
 * @param error as the import has thrown it
 * @param path of the module that was imported; the error may be in a file that it imports
 * @returns undefined if it is not an error of syntax, or if its place cannot be found
 */
export async function syntaxFaultOf(error: Error, path: string): Promise<SyntaxFault | undefined> {
  const transformed = faultOfTransform(error.message);
  if (transformed) return transformed;
  if (!(error instanceof SyntaxError)) return undefined;
  return faultOfReport(error.stack ?? '', error.message) ?? faultOfReport(await walk(path), error.message);
}

/** Node does not tell the place of an error in an ES module, except for an error that ends the process. */
function walk(path: string): Promise<string> {
  const program = fileURLToPath(new URL('./syntax-walk.js', import.meta.url));
  const parameters = ['--experimental-vm-modules', '--no-warnings', program, path];
  return new Promise((resolve) => {
    // Without the environment: it could change what Node does, and what it writes.
    execFile(process.execPath, parameters, { env: {}, timeout: WALK_MS }, (_error, _stdout, stderr) =>
      resolve(stripVTControlCharacters(stderr)),
    );
  });
}

/** A report of Node: `path:line`, lines of the source, `^` under the place, and the error. */
function faultOfReport(report: string, message: string): SyntaxFault | undefined {
  const lines = report.split('\n');
  const [, place, line] = /^(.+):(\d+)$/.exec(lines[0] ?? '') ?? [];
  const mark = lines.findIndex((text) => /^\s*\^+\s*$/.test(text));
  // Any other error has a place in the program that has looked for it.
  const isOfSyntax = lines.some((text) => text.startsWith('SyntaxError'));
  if (place === undefined || mark < 2 || !isOfSyntax) return undefined;
  return {
    message,
    path: place.startsWith('file:') ? fileURLToPath(place) : place.replace(/\?.*$/, ''),
    line: Number(line),
    column: lines[mark]!.indexOf('^') + 1,
    source: lines[mark - 1],
  };
}

/** What esbuild says, which `tsx` uses: `path:line:column: ERROR: …`, with columns from 0. */
function faultOfTransform(message: string): SyntaxFault | undefined {
  const [, path, line, column, what] = /^(\S.*):(\d+):(\d+): ERROR: (.+)$/m.exec(message) ?? [];
  if (path === undefined) return undefined;
  return { message: what!, path, line: Number(line), column: Number(column) + 1, source: undefined };
}
