/**
 * Tests front ends of others in Chromium: useChat and useObject of the AI SDK 7, assistant-ui and CopilotKit.
 *
 *   node test/clients/front-ends/index.mjs [arguments of jest]
 *
 * The packages have about 1 GB. They need no newer Node than the service: Vite bundles the pages.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { npm, run, withPackages } from '../../matrix/commands.mjs';

const HERE = import.meta.dirname;
const COPILOT_KIT = join(HERE, 'copilotkit');
const SHOWN = { isShown: true };
/** React says more, and mounts components twice in its strict mode. */
const DEVELOPMENT = { env: { ...process.env, NODE_ENV: 'development' } };

/** Installs packages of which some name a newer Node: no more than their bundles is executed. Their scripts are not. */
async function install(folder) {
  const installed = join(folder, 'node_modules/.package-lock.json');
  const lockedAt = (await stat(join(folder, 'package-lock.json'))).mtimeMs;
  if ((await stat(installed).catch(() => undefined))?.mtimeMs >= lockedAt) return;
  console.log(`Installing the packages of ${folder} …`);
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline'];
  await run('npm', ['ci', '--ignore-scripts', ...quiet], { cwd: folder });
}

const build = (folder, config) =>
  run('npx', ['vite', 'build', '--mode', 'development', '--config', config], { cwd: folder, ...DEVELOPMENT });

await withPackages(join(HERE, '../../browser'));
await install(HERE);
await install(COPILOT_KIT);
await import('../../browser/unpack-browser.mjs');
await npm(['run', 'build']);
await build(HERE, 'vite.config.js');
await build(HERE, 'front-end.config.js');
await build(COPILOT_KIT, 'vite.config.js');
await run('npx', ['tsc', '-p', HERE]);
await run('npx', ['eslint', HERE]);
const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
await run(
  process.execPath,
  [...jest, '--config', join(HERE, 'jest.config.js'), ...process.argv.slice(2)],
  SHOWN,
);
