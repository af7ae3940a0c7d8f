import * as root from '../src/index.js';
import * as stores from '../src/stores/index.js';

/**
 * Hosts depend on every name below. Adding one is a promise to keep it; taking one away, or renaming it, breaks them and
 * is a major version.
 */
describe('The public surface', () => {
  it('of the package root is these names', () => {
    expect(Object.keys(root).sort()).toEqual([
      'AgentHandler',
      'AgentService',
      'DEFAULT_BODY_LIMITS',
      'FilePartDto',
      'FileStore',
      'MEMORY_RETENTION_DEFAULTS',
      'MemoryRunStore',
      'QueryDto',
      'QueryError',
      'QueryModule',
      'RUN_DEFAULTS',
      'RunStore',
      'STREAM_DEFAULTS',
      'TextPartDto',
      'log',
      'message',
    ]);
  });

  it('of the stores is these names', () => {
    expect(Object.keys(stores).sort()).toEqual(['DEFAULT_DATABASE_URL', 'openStore']);
  });
});
