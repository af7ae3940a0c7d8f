/** The versions of Node on which the tests are executed besides the one that executes `npm test`. */
export const NODE = { lowest: '20.19.0', 20: '20.20.2', 22: '22.23.3', 24: '24.21.0' };

/** The major version of Nest in `package-lock.json`. */
export const LOCKED_NEST = 12;

/** Packages that are installed here without a lock file are resolved as on this day, so that every run has the same. */
export const RELEASED_BEFORE = '2026-11-20';

/** The tests of what Nest and its adapters do: routes, guards, pipes, filters, modules, streams, the end; and one store. */
const WHAT_NEST_DOES = [
  'e2e/access/(service|tokens)',
  'e2e/bodies',
  'e2e/defaults',
  'e2e/disconnect',
  'e2e/drain',
  'e2e/endings',
  'e2e/endpoint',
  'e2e/host-',
  'e2e/hosts',
  'e2e/http-versions',
  'e2e/lazy-modules',
  'e2e/module',
  'e2e/named-modules',
  'e2e/problems',
  'e2e/refusals',
  'e2e/resume',
  'e2e/session-files',
  'e2e/shutdown',
  'e2e/standalone',
  'e2e/stream-bytes',
  'e2e/telemetry',
  'e2e/typed-kwargs',
  'src/stores/open-store',
];

/** The tests of what Node itself does: HTTP, streams, files, processes, signals, and packages with native code. */
const WHAT_NODE_DOES = [
  'e2e/bodies',
  'e2e/clients',
  'e2e/cluster/two-processes',
  'e2e/crash',
  'e2e/disconnect',
  'e2e/drain',
  'e2e/files-agent',
  'e2e/host-parsers',
  'e2e/hosts',
  'e2e/http-versions',
  'e2e/leaving-clients',
  'e2e/module',
  'e2e/resume',
  'e2e/session-files',
  'e2e/shutdown',
  'e2e/stream-bytes',
  'src/stores/open-store',
  'src/stores/drivers',
  'packages/files/src/parser-pool',
];

/** Node removes the types of TypeScript from 22.18 on, and loads modules in another way than before. */
const HOW_NODE_LOADS_MODULES = ['e2e/agent-modules', 'e2e/agent-reloads'];

/** The newest clients of other protocols need Node 22. `npm run adapters` executes the same tests with those for Node 20. */
const NEWEST_CLIENTS = [
  ...['ai@7', '@ai-sdk/react@4', '@ai-sdk/workflow@2', 'react@19', 'openai@7', '@langchain/openai@1.6'],
  ...[
    '@langchain/core@1',
    '@ag-ui/client@1',
    '@ag-ui/core@1',
    '@tanstack/ai@0.58',
    '@tanstack/ai-client@0.33',
    'zod@4',
  ],
  ...[
    '@modelcontextprotocol/client@2',
    '@modelcontextprotocol/conformance@0.2.0-alpha.12',
    '@modelcontextprotocol/ext-tasks@0.2',
    '@modelcontextprotocol/sdk@1',
  ],
];

/**
 * The combinations besides Nest 12 on the Node of the machine, on which `npm test` executes everything. Nest 11 is tried on
 * the lowest Node that the package promises, so that one combination tells about both ends.
 */
export const COMBINATIONS = {
  'nest-11': { node: NODE.lowest, nest: 11, specs: WHAT_NEST_DOES },
  'node-22': { node: NODE[22], nest: LOCKED_NEST, specs: WHAT_NODE_DOES },
  'node-24': { node: NODE[24], nest: LOCKED_NEST, specs: [...WHAT_NODE_DOES, ...HOW_NODE_LOADS_MODULES] },
  'clients-22': {
    node: NODE[22],
    nest: LOCKED_NEST,
    specs: ['packages/protocols/test', 'packages/mcp/test'],
    clients: NEWEST_CLIENTS,
  },
};
