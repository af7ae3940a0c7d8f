import { join } from 'node:path';
import process from 'node:process';
import base from '../../../jest.config.js';

/** That of `examples/front-end`, with the AI SDK 7. Its tests are those of the page with 6. */
process.env.FRONT_END_PAGE = join(import.meta.dirname, 'dist/front-end');

/** The suites whose packages `npm ci` does not install. */
export default {
  ...base,
  rootDir: '../../..',
  testMatch: ['<rootDir>/test/clients/front-ends/*.suite.ts', '<rootDir>/test/browser/front-end.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
