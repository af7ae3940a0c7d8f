/** The packages that are published, as npm packs them. */
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import process from 'node:process';
import { buildAdapters } from '../adapters/build.mjs';
import { run } from '../matrix/commands.mjs';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The folders of the published packages, each after those that it needs, with their manifests. */
async function publishedPackages() {
  const others = (await readdir(join(ROOT, 'packages'), { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .map(({ name }) => `packages/${name}`);
  const first = ['packages/client', 'packages/doctor', 'packages/cli', 'packages/modules', '.'];
  const folders = [...first, ...others.filter((folder) => !first.includes(folder))];
  const all = await Promise.all(
    folders.map(async (folder) => ({
      folder: join(ROOT, folder),
      manifest: JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8')),
    })),
  );
  return all.filter(({ manifest }) => !manifest.private);
}

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
  const packages = await publishedPackages();
  for (const each of packages) Object.assign(each, await pack(each, target));
  await writeFile(list, JSON.stringify(packages));
  return packages;
}

async function pack({ folder }, directory) {
  const options = ['--json', '--ignore-scripts', '--pack-destination', directory];
  const output = await run('npm', ['pack', ...options], { cwd: folder });
  const [packed] = JSON.parse(output.slice(output.indexOf('[')));
  return { path: join(directory, packed.filename), files: packed.files.map(({ path }) => path) };
}

/** What users import of a package. */
export function entriesOf({ manifest: { name, exports } }) {
  return Object.keys(exports)
    .filter((entry) => entry !== './package.json')
    .map((entry) => posix.join(name, entry));
}
