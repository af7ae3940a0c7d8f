/** The packages that are published, as npm packs them. */
import { readdir, readFile } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import { run } from '../matrix/commands.mjs';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The folders of the published packages, each after those that it needs, with their manifests. */
export async function publishedPackages() {
  const others = (await readdir(join(ROOT, 'packages'), { withFileTypes: true }))
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .map(({ name }) => `packages/${name}`);
  const first = ['packages/client', 'packages/doctor', '.'];
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
 * Packs a package.
 *
 * @returns the path of the tarball, and the paths of the files in it
 */
export async function pack({ folder }, directory) {
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
