import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../matrix/commands.mjs';

const PACKAGES = new URL('packages.json', import.meta.url);

/**
 * Downloads the packages of the list and unpacks them, unless they are there. No script of a package is executed.
 *
 * @param folder is made; a package has a folder in it
 * @param only names of packages; without it, all
 * @returns the packages that are there, each with its name, version and folder, and the names of those that are not
 */
export async function installPackages(folder, only) {
  const listed = JSON.parse(await readFile(PACKAGES, 'utf8'));
  const all = Object.entries(INSTALLERS).flatMap(([from, install]) =>
    Object.entries(listed[from]).map(([name, version]) => ({ name, version, from, install })),
  );
  const wanted = all.filter(({ name }) => !only || only.includes(name));
  await mkdir(folder, { recursive: true });
  const packages = [];
  const missing = [];
  for (const { name, version, from, install } of wanted) {
    const unpacked = join(folder, from, name.replace('/', '+'));
    try {
      if (!existsSync(unpacked)) await unpack(install, name, version, unpacked);
      packages.push({ name, version, folder: unpacked });
    } catch (error) {
      missing.push(`${name} ${version} (${error.message.trim().split('\n').at(-1)})`);
    }
  }
  return { packages, missing };
}

/** A package whose unpacking is cut off leaves no folder. */
async function unpack(install, name, version, unpacked) {
  const partial = `${unpacked}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  const [program, option, ...target] = await install(name, version, partial);
  const [archive] = await readdir(partial);
  await run(program, [option, archive, ...target], { cwd: partial });
  await rm(join(partial, archive));
  await rename(partial, unpacked);
}

/** Each downloads a package into an empty folder, and says how it is unpacked there. */
const INSTALLERS = {
  async npm(name, version, folder) {
    await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: folder });
    return ['tar', '-xzf'];
  },
  async debian(name, version, folder) {
    await run('apt-get', ['download', '-q', `${name}=${version}`], { cwd: folder });
    return ['dpkg-deb', '-x', '.'];
  },
};
