/** Applications as `nest new` generates them. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { npm, run } from './commands.mjs';
import { RELEASED_BEFORE } from './versions.mjs';

/**
 * `nest new` executes this schematic; it asks for the module system only at a terminal.
 *
 * @returns the folder of the application
 */
export async function generate({ nest, type }, folder, env) {
  const options = { cwd: join(folder, 'cli'), env };
  await mkdir(options.cwd);
  // Otherwise npm would install in a folder above.
  await writeFile(join(options.cwd, 'package.json'), '{"private":true}');
  await npm(['install', '--before', RELEASED_BEFORE, `@nestjs/cli@${nest}`], options);
  const answers = ['--name=app', '--language=ts', '--strict', '--package-manager=npm'];
  if (type) answers.push(`--type=${type}`);
  await run('node', ['node_modules/.bin/schematics', '@nestjs/schematics:application', ...answers], options);
  return join(options.cwd, 'app');
}

/** Relative imports as the module system needs them. */
export function withExtensions(source, extension) {
  return source.replace(/(from '\.\.?\/[^']*?)(?:\.js)?'/g, `$1${extension}'`);
}

/** Adds the settings of docs/testing.md to those of the tests of an application. */
export async function addJestSettings(app, manifest, settings) {
  Object.assign(manifest.jest, settings);
  const e2e = join(app, 'test/jest-e2e.json');
  await writeFile(e2e, JSON.stringify({ ...JSON.parse(await readFile(e2e, 'utf8')), ...settings }));
}
