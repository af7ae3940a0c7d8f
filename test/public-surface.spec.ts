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
      'AnswerText',
      'DEFAULT_BODY_LIMITS',
      'EventLog',
      'FilePartDto',
      'FileStore',
      'INTERRUPTED',
      'KEPT_LENGTH',
      'MemoryRunStore',
      'QueryDto',
      'QueryError',
      'QueryModule',
      'RETENTION_DEFAULTS',
      'RUN_DEFAULTS',
      'RunStore',
      'STREAM_DEFAULTS',
      'TextPartDto',
      'doneText',
      'log',
      'message',
    ]);
  });

  it('of the stores is these names', () => {
    expect(Object.keys(stores).sort()).toEqual(['DEFAULT_DATABASE_URL', 'openStore']);
  });
});
