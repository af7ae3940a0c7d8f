import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../matrix/commands.mjs';

/**
 * Installs the clients, unless those of the lock file are there. Some of them want a newer Node than this one: they are executed
 * with the one that is among the packages. No script of a package is executed.
 */
export async function installClients() {
  const folder = import.meta.dirname;
  const installed = await stat(join(folder, 'node_modules/.package-lock.json')).catch(() => undefined);
  const locked = await stat(join(folder, 'package-lock.json'));
  if (installed?.mtimeMs >= locked.mtimeMs) return;
  console.log('Installing the clients: more than a gigabyte, two minutes or more …');
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd: folder,
  });
}
