/** One suite: specs beside the files they describe, and the promises of the interface under `test`. */
export default {
  testEnvironment: 'node',
  // Tests wait for what they wait for; this only ends those that wait in vain, on slow machines too.
  testTimeout: 60_000,
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // Threads are started by Node, not by Jest, which cannot compile for them.
    '^\\./thread-entry\\.js$': '<rootDir>/test/support/thread-entry.ts',
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
