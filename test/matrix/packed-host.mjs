/** An empty application on a disk, in which the packed packages are installed. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withNeeded } from '../../build/pack.mjs';
import { run } from './commands.mjs';
import { RELEASED_BEFORE } from './versions.mjs';

const NEST_11 = {
  '@nestjs/common': '^11.0.0',
  '@nestjs/core': '^11.0.0',
  '@nestjs/platform-express': '^11.0.0',
};
const SHARED = { 'reflect-metadata': '^0.2.0', rxjs: '^7.8.0' };

/** What hosts of Nest 11 depend on. */
export const OF_NEST_11 = { ...NEST_11, ...SHARED };

/** The dependencies on packed packages. */
export function packedOnes(packages) {
  return Object.fromEntries(packages.map(({ manifest, path }) => [manifest.name, `file:${path}`]));
}

/**
 * The dependencies on packages, and on those of ours that these depend on: npm cannot get them from the registry.
 *
 * @param packages the packed packages
 * @param names of those that are wanted
 */
export function packedWithOurs(packages, names) {
  return packedOnes(withNeeded(packages, names));
}

/**
 * Writes the manifest of a host, and installs what it depends on.
 *
 * @param options further options of `npm install`
 * @returns the folder
 * @throws Error if npm refuses the packages, or warns that they do not fit together
 */
export async function installHost(folder, dependencies, ...options) {
  await mkdir(folder, { recursive: true });
  const manifest = { name: 'host', private: true, type: 'commonjs', dependencies };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--before', RELEASED_BEFORE];
  const output = await run('npm', ['install', ...quiet, ...options], { cwd: folder });
  if (/ERESOLVE|overriding peer/.test(output)) throw new Error(`npm install warns:\n${output}`);
  return folder;
}
