import { existsSync } from 'node:fs';

const missing = [
  ...(existsSync(new URL('packages/node_modules', import.meta.url))
    ? []
    : ['/packages/(langgraph|mastra|openai-agents|(adapters|ai-sdk|mcp|protocols)/test|[^/]+\\.spec)']),
  ...(existsSync(new URL('packages/node_modules/@agentclientprotocol/sdk', import.meta.url))
    ? []
    : ['/packages/acp/test/conformance']),
  // It needs Node 22: `npm run matrix` installs and executes it.
  ...(existsSync(new URL('packages/node_modules/@modelcontextprotocol/conformance', import.meta.url))
    ? []
    : ['/packages/mcp/test/conformance']),
];

/** Suites that `npm test` leaves to `npm run browser`, for Chromium, and to `npm run adapters`, which has the compiler of TypeScript. */
const ELSEWHERE = '/test/(browser/|types\\.spec)';

/**
 * Suites that take long, mostly because they wait: several processes on one database, poolers and outages of databases, proxies,
 * other languages, files that harm their parser. `npm run chaos` executes them, and so does `.ci/run`.
 */
export const LONG = `/(${[
  'test/e2e/(cluster/(?!two-processes)|doctor|cli-proxies)',
  'test/real-proxies',
  'test/conformance/services',
  'src/stores/(several-processes|lost-processes|poolers|outage)',
  'packages/files/src/hostile-files',
].join('|')})`;

/** One suite: unit specs beside the source files, and the tests of the interface under `test`. */
export default {
  globalSetup: '<rootDir>/test/support/shared-postgres.mjs',
  globalTeardown: '<rootDir>/test/support/stop-shared-postgres.mjs',
  // Node, and a check that a suite leaves nothing open.
  testEnvironment: '<rootDir>/test/support/leak-environment.mjs',
  runtime: '<rootDir>/test/support/shared-runtime.cjs',
  // Tests wait for conditions. This ends a wait in vain, and is long enough for slow machines.
  testTimeout: 60_000,
  // Most tests wait for clients, processes and databases: one worker, the default on two cores, takes more than twice as long.
  // Whoever executes several programs of tests at a time gives each fewer.
  maxWorkers: Number(process.env.TEST_WORKERS ?? 3),
  // All processes together fit into 3 GB. One that is replaced loads its modules again, which takes seconds.
  workerIdleMemoryLimit: '700MB',
  roots: ['<rootDir>/src', '<rootDir>/test', '<rootDir>/packages'],
  // The packages of frameworks need what `npm ci` does not install: CONTRIBUTING.md.
  testPathIgnorePatterns: ['/node_modules/', LONG, ELSEWHERE, ...missing],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/packages/[^/]+/dist/'],
  testMatch: ['**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // Node starts the processes of the parsers, from what `npm run build` has compiled.
    '^\\./parser-entry\\.js$': '<rootDir>/test/support/parser-entry.ts',
    // Vite builds the page; beside the sources of the module is its source.
    '^\\./built-page\\.js$': '<rootDir>/test/support/built-page.ts',
    // The sources of all packages are tested, so that no class exists twice.
    '^nest-agent-query$': '<rootDir>/src/index.ts',
    '^nest-agent-query/openapi$': '<rootDir>/packages/openapi/src/index.ts',
    '^nest-agent-query/(.*)$': '<rootDir>/src/$1/index.ts',
    '^nest-agent-query-(cli|client)/(.*)$': '<rootDir>/packages/$1/src/$2.ts',
    '^nest-agent-query-(ai-sdk|protocols)/(.*)$': '<rootDir>/packages/$1/src/$2/index.ts',
    '^nest-agent-query-([^/]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^(\\.{1,2}/.*(?:code-folder|manifest|required-framework))\\.cjs$': '$1.cts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  moduleFileExtensions: ['js', 'mjs', 'cjs', 'ts', 'cts', 'json', 'node'],
  transform: {
    '^.+\\.cts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
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
