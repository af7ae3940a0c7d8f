/** The packages that are published, as npm packs them. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import process from 'node:process';
import { packInto, publishedPackages } from '../../build/pack.mjs';
import { buildAdapters } from '../adapters/build.mjs';

export const ROOT = resolve(import.meta.dirname, '../..');

/**
 * Builds and packs the published packages, unless this was done already in the folder that `PACKED` names.
 *
 * @param directory where the tarballs are put without `PACKED`
 * @returns each with its folder, its manifest, the path of its tarball, and the paths of the files in it
 */
export async function packedPackages(directory) {
  const target = process.env.PACKED || directory;
  const list = join(target, 'packages.json');
  if (existsSync(list)) return JSON.parse(await readFile(list, 'utf8'));
  await buildAdapters();
  const packages = packInto(publishedPackages(), target);
  await writeFile(list, JSON.stringify(packages));
  return packages;
}

/** What users import of a package. */
export function entriesOf({ manifest: { name, exports } }) {
  return Object.keys(exports)
    .filter((entry) => entry !== './package.json')
    .map((entry) => posix.join(name, entry));
}
