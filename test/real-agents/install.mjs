import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../matrix/commands.mjs';

const PACKAGES = join(import.meta.dirname, 'node_modules');

/** The path of a file of an installed package. */
export const installed = (file) => join(PACKAGES, file);

/**
 * Installs the packages of agents that are not there in the version of the manifest. No script of a package is executed.
 *
 * @returns the versions, by the names of the packages
 */
export async function installAgents(agents) {
  const { dependencies, devDependencies } = createRequire(import.meta.url)('./package.json');
  const wanted = { ...dependencies, ...devDependencies };
  const versions = agents.map(({ packageName }) => [packageName, wanted[packageName]]);
  const isThere = await Promise.all(
    versions.map(async ([name, version]) => (await versionOf(name)) === version),
  );
  if (isThere.includes(false)) await install(agents.some(({ isFurther }) => isFurther));
  return Object.fromEntries(versions);
}

async function versionOf(name) {
  const manifest = installed(join(name, 'package.json'));
  return existsSync(manifest) ? JSON.parse(await readFile(manifest, 'utf8')).version : undefined;
}

async function install(withFurther) {
  console.log(`Installing the agents: ${withFurther ? 'more than a gigabyte' : '340 MB'} …`);
  const parameters = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await run('npm', [...parameters, ...(withFurther ? [] : ['--omit=dev'])], { cwd: import.meta.dirname });
}
