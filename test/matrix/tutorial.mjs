/** Follows docs/tutorial.md in an empty folder, with the packed packages. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { freePort } from '../support/free-port.mjs';
import { followTutorial } from '../support/tutorial.mjs';
import { run } from './commands.mjs';
import { packedOnes } from './packed-host.mjs';
import { RELEASED_BEFORE } from './versions.mjs';

/** What npm cannot get from the registry before it is published. */
const PACKED = ['', '-cli', '-client', '-doctor'].map((part) => `nest-agent-query${part}`);

/** @param packages the packed packages */
export async function tryTutorial(packages, directory) {
  const folder = join(directory, 'tutorial');
  await mkdir(folder);
  const tarballs = packedOnes(packages.filter(({ manifest }) => PACKED.includes(manifest.name)));
  const install = async (names) => {
    const others = names.filter((name) => !PACKED.includes(name));
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--before', RELEASED_BEFORE];
    await run('npm', ['install', ...quiet, ...Object.values(tarballs), ...others], { cwd: folder });
  };
  const steps = await followTutorial({ folder, install, port: await freePort(), env: process.env });
  console.log(`The tutorial: ${steps.length} steps, as they are written`);
}
