import type { Query, QueryContext } from 'nest-agent-query';
import { STREAM_MODES } from './graph-events.js';
import type { GraphConfig, LangGraphOptions } from './graph-options.js';
import type { ModelWatch } from './model-watch.js';

/** What the adapter itself decides about an execution. */
interface Execution {
  thread: string;
  signal: AbortSignal;
  watch: ModelWatch;
  /** Whether the end of each step is told, as soon as it is stored. */
  tellsSteps: boolean;
}

/** The options with which a graph is executed. */
export function configOf<K extends object>(
  { config = {}, subgraphs = false }: LangGraphOptions<K>,
  query: Query<K>,
  context: QueryContext,
  { thread, signal, watch, tellsSteps }: Execution,
): object {
  const given = typeof config === 'function' ? config(query, context) : config;
  return {
    ...given,
    configurable: { ...given.configurable, thread_id: thread },
    callbacks: withWatch(given.callbacks, watch),
    signal,
    subgraphs,
    streamMode: tellsSteps ? [...STREAM_MODES, 'checkpoints'] : [...STREAM_MODES],
    ...(tellsSteps && { durability: 'sync' }),
  };
}

function withWatch(callbacks: GraphConfig['callbacks'], watch: ModelWatch): GraphConfig['callbacks'] {
  const handler = watch as never;
  if (callbacks === undefined) return [handler];
  if (Array.isArray(callbacks)) return [...callbacks, handler];
  const manager = callbacks.copy();
  manager.addHandler(handler, true);
  return manager;
}
