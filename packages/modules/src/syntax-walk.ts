/**
 * A program: parses a module and the files that it imports, and executes none of them. The first syntax error ends it, and Node
 * prints that with its line. It needs `--experimental-vm-modules`.
 */
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import vm from 'node:vm';

/** What a file imports. A comment may look like an import; at worst one more file is parsed. */
const IMPORT = /\b(?:from|import)\s*\(?\s*(['"])((?:\.{0,2}\/|file:).+?)\1/g;

const seen = new Set<string>();

async function walk(url: URL): Promise<void> {
  const path = fileURLToPath(url);
  if (seen.has(path)) return;
  seen.add(path);
  // A file that cannot be read is not a syntax error.
  const text = await readFile(path, 'utf8').catch(() => '');
  // Node tells the place of an error in TypeScript and CommonJS itself.
  if (/\.m?js$/.test(path)) new vm.SourceTextModule(text, { identifier: path });
  for (const [, , name] of text.matchAll(IMPORT)) await walk(new URL(name!, url));
}

await walk(pathToFileURL(process.argv[2]!));
