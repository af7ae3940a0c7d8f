import { mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { applicationName } from './application-name.js';
import { packedDependencies } from './packed-dependencies.js';
import { Refusal } from './refusal.js';

/** Where the files of an application are. */
const folderOf = (name: string) => fileURLToPath(new URL(`../${name}/`, import.meta.url));

/** Who answers in the application. */
export const AGENTS = ['model', 'acp'] as const;
export type Agent = (typeof AGENTS)[number];

/** What only an application with a model has. The template of another agent has its own files beside the common ones. */
const OF_MODEL = /^(?:src\/(?:model|order-agent|orders|scripted-model)|test\/order-agent\.spec)\.ts$/;

/** npm leaves a file of this name out of a package, so the template has it without the dot. */
const RENAMED: Record<string, string> = { gitignore: '.gitignore' };

/** What a folder may have that counts as empty. */
const IGNORED = ['.git', '.DS_Store'];

/**
 * Writes the application into an empty folder, which is made if it is not there. It never writes over a file: what another
 * program puts there in the meantime stays, and what was written is removed.
 *
 * @param folder relative to the working directory, or absolute
 * @param given `name`: that in its manifest; undefined: that of the folder. `packed`: a folder of packed packages that it depends on.
 * `agent`: who answers
 * @returns the name in its manifest
 * @throws {Refusal} the folder is not empty, is no folder or cannot be written, npm does not take the name, or a package is not
 * packed
 */
export async function createApplication(
  folder: string,
  given: { name: string | undefined; packed: string | undefined; agent: Agent },
): Promise<string> {
  const target = resolve(folder);
  const files = await filesOf(given.agent);
  const manifest = JSON.parse(await readFile(files.get('package.json')!, 'utf8')) as Manifest;
  const dependencies = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  manifest.name = applicationName(given.name, target, dependencies);
  if (given.packed !== undefined)
    manifest.dependencies = await packedDependencies(manifest.dependencies, given.packed, target);
  await checkEmpty(target, folder);
  const written: string[] = [];
  try {
    for (const [path, source] of files) {
      const content =
        path === 'package.json' ? `${JSON.stringify(manifest, null, 2)}\n` : await readFile(source);
      const place = join(target, RENAMED[path] ?? path);
      await mkdir(dirname(place), { recursive: true });
      await writeFile(place, content, { flag: 'wx' });
      written.push(place);
    }
  } catch (error) {
    await remove(written, target);
    throw refusalOf(error as NodeJS.ErrnoException, folder);
  }
  return manifest.name;
}

/** Removes files, and the folders below the target that are empty then. */
async function remove(written: string[], target: string): Promise<void> {
  await Promise.all(written.map((place) => rm(place, { force: true })));
  const folders = new Set(written.map((place) => dirname(place)).filter((folder) => folder !== target));
  for (const folder of folders) await rmdir(folder).catch(() => undefined);
}

interface Manifest {
  name: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

/** The files of the application by their names in it, with where each is. */
async function filesOf(agent: Agent): Promise<Map<string, string>> {
  const common = await filesIn('template');
  if (agent === 'model') return new Map(common);
  const others = common.filter(([path]) => !OF_MODEL.test(path));
  // In the order of their names: what cannot be written is found in the same order each time.
  return new Map([...new Map([...others, ...(await filesIn(`template-${agent}`))])].sort());
}

/** The files of a folder, relative to it, with `/` between folders, and where each is. */
async function filesIn(name: string): Promise<[string, string][]> {
  const folder = folderOf(name);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((place): [string, string] => [place.slice(folder.length).replaceAll('\\', '/'), place])
    .sort();
}

async function checkEmpty(target: string, folder: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw refusalOf(error as NodeJS.ErrnoException, folder);
  }
  const found = names.filter((name) => !IGNORED.includes(name)).sort();
  if (found.length === 0) return;
  const shown = found.slice(0, 3).join(', ') + (found.length > 3 ? ` and ${found.length - 3} more` : '');
  const place = folder === '.' ? 'The current folder' : `The folder ${folder}`;
  throw new Refusal(`${place} is not empty: it has ${shown}. Name one that is new or empty.`, false);
}

const REASONS: Record<string, string> = {
  ENOTDIR: 'it, or what it is in, is a file. Choose another folder.',
  EACCES: 'you may not write there. Choose another folder.',
  EPERM: 'you may not write there. Choose another folder.',
  EROFS: 'the disk can only be read. Choose another folder.',
  ENOSPC: 'the disk is full.',
  EEXIST: 'another program has written there in the meantime. Choose another folder.',
  ENAMETOOLONG: 'its name is too long. Choose a shorter one.',
};

function refusalOf(error: NodeJS.ErrnoException, folder: string): Error {
  const reason = REASONS[error.code ?? ''];
  return reason === undefined ? error : new Refusal(`Nothing was written to ${folder}: ${reason}`, false);
}
