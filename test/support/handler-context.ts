import type { QueryContext } from '../../src/index.js';

/** The context of the first attempt of a run without a session; members that are given take precedence. */
export function contextOf(context: Partial<QueryContext> = {}): QueryContext {
  return {
    runId: 'run',
    owner: 'anonymous',
    session: undefined,
    history: [],
    signal: new AbortController().signal,
    resumed: undefined,
    checkpoint: async () => undefined,
    ask: async () => [],
    ...context,
  };
}
