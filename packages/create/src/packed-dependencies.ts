import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Refusal } from './refusal.js';

/** What `npm run pack:all` writes beside the packages. */
const LIST = 'packed.json';

/** By the names of the packages: the file of each, and which others of them it needs. */
type Packed = Record<string, { file: string; needs: string[] }>;

/**
 * Replaces the versions of packages by their packed files, and adds the packages that these need: npm cannot get them elsewhere.
 *
 * @param dependencies of a manifest
 * @param folder with the packed packages, relative to the working directory, or absolute
 * @param target where the manifest will be
 * @throws {Refusal} the folder has no packed packages, or not all that are needed
 */
export async function packedDependencies(
  dependencies: Record<string, string>,
  folder: string,
  target: string,
): Promise<Record<string, string>> {
  const packed = await listOf(folder);
  const needed = new Set(Object.keys(dependencies).filter((name) => /\bnest-agent-query\b/.test(name)));
  const files: Record<string, string> = {};
  // A set is read to its end, also what is added meanwhile.
  for (const name of needed) {
    const found = packed[name];
    if (!found) throw new Refusal(`The folder ${folder} has no package ${name}. ${howTo(folder)}`, false);
    files[name] = `file:${relative(target, resolve(folder, found.file)).replaceAll('\\', '/')}`;
    for (const other of found.needs) needed.add(other);
  }
  const all = Object.entries({ ...dependencies, ...files });
  // In the order in which npm writes them.
  return Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function listOf(folder: string): Promise<Packed> {
  try {
    return JSON.parse(await readFile(join(folder, LIST), 'utf8')) as Packed;
  } catch {
    throw new Refusal(`The folder ${folder} has no list of packages, ${LIST}. ${howTo(folder)}`, false);
  }
}

function howTo(folder: string): string {
  return `In a clone of nest-agent-query, execute: npm run pack:all -- ${folder}`;
}
