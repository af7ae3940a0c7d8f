/**
 * Executes the suites that `npm test` leaves out because they take long: `LONG` in `jest.config.js`.
 */
import { spawnSync } from 'node:child_process';
import process from 'node:process';

const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
const { status } = spawnSync(
  process.execPath,
  [...jest, '--config', 'test/chaos/jest.config.js', ...process.argv.slice(2)],
  // Jest writes its report to the standard error.
  { stdio: ['ignore', 1, 1] },
);
if (status === 0) console.log('all suites have passed');
process.exitCode = status ?? 1;
