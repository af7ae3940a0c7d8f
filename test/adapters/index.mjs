/**
 * Builds, checks and tests the packages that adapt frameworks, with the frameworks.
 *
 *     npm run adapters [-- --testPathPatterns langgraph]
 *     npm run adapters -- build    # no more than the installation and the build
 *     npm run adapters -- types    # without eslint and further tests: `npm run lint` and `npm test` have those where the frameworks are
 */
import process from 'node:process';
import { buildAdapters, FRAMEWORKS, step } from './build.mjs';

const TESTS = [
  '--testPathPatterns',
  'packages/(ai-sdk|langgraph|mastra|openai-agents|(?:adapters|mcp|protocols)/test|adapters\\.spec)',
];
const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];

await buildAdapters();
if (process.argv[2] === 'build') process.exit();
// The sources and tests of all packages, as one program, and the code of the documents, as another.
step('npx', 'tsc', '--noEmit', '-p', '.');
step(
  process.execPath,
  ...jest,
  '--testPathIgnorePatterns',
  '/node_modules/',
  '--testPathPatterns',
  'test/types',
);
if (process.argv[2] !== 'types') {
  const folders = ['packages/ai-sdk', 'packages/mcp', 'packages/protocols', ...FRAMEWORKS];
  step('npx', 'eslint', 'packages/*.ts', ...folders);
  step(process.execPath, ...jest, ...(process.argv.length > 2 ? process.argv.slice(2) : TESTS));
}
