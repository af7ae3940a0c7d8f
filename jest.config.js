/** One suite: unit specs beside the source files, and the tests of the interface under `test`. */
export default {
  // Node, and a check that a suite leaves nothing open.
  testEnvironment: '<rootDir>/test/support/leak-environment.mjs',
  // Tests wait for conditions. This ends a wait in vain, and is long enough for slow machines.
  testTimeout: 60_000,
  // Most tests wait for clients, processes and databases: one worker, the default on two cores, takes twice as long.
  maxWorkers: 2,
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // Processes are started by Node, not by Jest, which cannot compile for them.
    '^\\./parser-entry\\.js$': '<rootDir>/test/support/parser-entry.ts',
    // Vite builds the page; beside the sources of the module is its source.
    '^\\./built-page\\.js$': '<rootDir>/test/support/built-page.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
      },
    ],
  },
};
