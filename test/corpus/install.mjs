import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../matrix/commands.mjs';

const PACKAGES = new URL('packages.json', import.meta.url);

/** What downloads a package into an empty folder, and unpacks it there. */
const COMMANDS = {
  npm: 'npm pack --silent "$1@$2" && tar -xzf *.tgz && rm *.tgz',
  debian: 'apt-get download -q "$1=$2" && dpkg-deb -x *.deb . && rm *.deb',
};

/**
 * Downloads the packages of the list and unpacks them, unless they are there. No script of a package is executed.
 *
 * @param folder is made; a package has a folder in it
 * @param only names of packages; without it, all
 * @returns the packages that are there, each with its name, version and folder, and sentences about the others
 */
export async function installPackages(folder, only) {
  const listed = JSON.parse(await readFile(PACKAGES, 'utf8'));
  const packages = [];
  const missing = [];
  for (const from of Object.keys(COMMANDS)) {
    for (const [name, version] of Object.entries(listed[from])) {
      if (only && !only.includes(name)) continue;
      const unpacked = join(folder, from, name.replace('/', '+'));
      try {
        if (!existsSync(unpacked)) await unpack([COMMANDS[from], 'sh', name, version], unpacked);
        packages.push({ name, version, folder: unpacked });
      } catch (error) {
        missing.push(`${name} ${version} (${error.message.trim().split('\n').at(-1)})`);
      }
    }
  }
  return { packages, missing };
}

/** A package whose unpacking is cut off leaves no folder. */
async function unpack(command, unpacked) {
  const partial = `${unpacked}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  await run('sh', ['-c', ...command], { cwd: partial });
  await rename(partial, unpacked);
}
