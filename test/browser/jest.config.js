import base from '../../jest.config.js';

/** The suites in Chromium. */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/browser'],
  testPathIgnorePatterns: ['/node_modules/'],
};
