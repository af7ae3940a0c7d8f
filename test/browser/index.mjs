/**
 * Tests the page, the typed client and the examples of pages in Chromium, with packages of its own. `npm run lint` checks these
 * suites too, when the packages are there.
 *
 *   npm run browser
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { npm, run, withPackages } from '../matrix/commands.mjs';

const FRONT_END = join(import.meta.dirname, '../../examples/front-end');
const SHOWN = { isShown: true };

await withPackages(import.meta.dirname);
await withPackages(FRONT_END);
await import('./unpack-browser.mjs');
await npm(['run', 'build']);
await Promise.all([npm(['run', 'build', '--prefix', FRONT_END]), run('npx', ['tsc', '-p', 'test/browser'])]);
const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
await run(
  process.execPath,
  [...jest, '--config', 'test/browser/jest.config.js', ...process.argv.slice(2)],
  SHOWN,
);
// The pictures of the README can be taken of the page as it is now.
const pictures = await mkdtemp(join(tmpdir(), 'pictures-'));
await run(process.execPath, ['test/browser/pictures.mjs', pictures], SHOWN);
await rm(pictures, { recursive: true });
