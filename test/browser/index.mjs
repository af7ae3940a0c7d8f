/**
 * Tests the page, the typed client and the example of a page in Chromium, with packages of its own.
 *
 *   npm run browser
 */
import { npm, run, withPackages } from '../matrix/commands.mjs';

const SHOWN = { isShown: true };

await withPackages(import.meta.dirname);
// Unpacked once: suites that start side by side would execute what another one still writes.
const { default: chromium } = await import('@sparticuz/chromium');
await chromium.executablePath();
await npm(['run', 'build']);
await run('npx', ['tsc', '-p', 'test/browser']);
await run('npx', ['eslint', 'test/browser']);
const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
await run(
  process.execPath,
  [...jest, '--testPathPatterns', 'test/browser/', ...process.argv.slice(2)],
  SHOWN,
);
