/** Follows docs/tutorial.md in an empty folder, with the packed packages. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { freePort } from '../support/free-port.mjs';
import { followTutorial } from '../support/tutorial.mjs';
import { run } from './commands.mjs';
import { packedWithOurs } from './packed-host.mjs';
import { RELEASED_BEFORE } from './versions.mjs';

/** @param packages the packed packages */
export async function tryTutorial(packages, directory) {
  const folder = join(directory, 'tutorial');
  await mkdir(folder);
  // What npm cannot get from the registry before it is published.
  const packed = packedWithOurs(packages, ['nest-agent-query']);
  const install = async (names) => {
    const others = names.filter((name) => !(name in packed));
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--before', RELEASED_BEFORE];
    await run('npm', ['install', ...quiet, ...Object.values(packed), ...others], { cwd: folder });
  };
  const steps = await followTutorial({ folder, install, port: await freePort(), env: process.env });
  console.log(`The tutorial: ${steps.length} steps, as they are written`);
}
