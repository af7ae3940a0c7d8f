import type { BaseMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { Query, QueryContext } from 'nest-agent-query';
import type { AdapterOptions, AdapterSettings } from 'nest-agent-query-adapters';

/** What the adapter uses of a compiled graph. Every compiled graph of LangGraph.js has it. */
export interface CompiledGraph {
  stream(input: unknown, options?: object): Promise<AsyncIterable<unknown>>;
  getState(config: object): Promise<{ values: unknown; next: readonly string[] }>;
  updateState(config: object, values: null): Promise<unknown>;
  checkpointer?: Checkpointer | boolean | undefined;
  interruptBefore?: unknown;
  interruptAfter?: unknown;
}

/** What the adapter uses of a checkpointer. */
export interface Checkpointer {
  getTuple(config: object): Promise<CheckpointTuple | undefined>;
  deleteThread(threadId: string): Promise<void>;
}

/** A checkpoint, as a checkpointer returns it. */
export interface CheckpointTuple {
  config: { configurable?: Record<string, unknown> };
  /** The checkpoint before it. */
  parentConfig?: object;
  metadata?: { source?: string };
  pendingWrites?: readonly (readonly [task: string, name: string, value: unknown])[];
}

/** A question of a node that waits for its answer. */
export interface GraphInterrupt {
  id: string;
  value?: unknown;
  /** The JSON Schema of the answer. */
  response_schema?: Record<string, unknown>;
}

/** What `graph.stream` is given besides what the adapter sets: `recursionLimit`, `configurable`, `tags`, `context`, …. */
export type GraphConfig = RunnableConfig & { context?: unknown; store?: unknown };

/**
 * How a graph answers queries.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 */
export interface LangGraphOptions<K extends object = Record<string, unknown>> extends AdapterOptions {
  /**
   * Makes the input of the graph. Default: `{ messages }`.
   *
   * @param messages what the graph does not know yet, oldest first: the message of the query, and before it the history if the
   * graph has no memory of the session
   */
  input?: ((messages: BaseMessage[], query: Query<K>, context: QueryContext) => unknown) | undefined;
  /**
   * The config of each execution, or what makes it. `thread_id`, `signal`, `streamMode` and `durability` are set by the adapter.
   */
  config?: GraphConfig | ((query: Query<K>, context: QueryContext) => GraphConfig) | undefined;
  /** The nodes whose texts, reasoning, sources and files are shown. Default: all nodes. */
  textNodes?: readonly string[] | undefined;
  /**
   * Whether the answer has the events of subgraphs one by one. Default false: what a node has made with a subgraph is shown when
   * the node has ended, as far as it is in the state of the graph.
   */
  subgraphs?: boolean | undefined;
  /** How often a run may continue after its process was lost, from 0 to 1,000. Default: 3 with a checkpointer, 0 without. */
  restarts?: number | undefined;
}

/** The options with their defaults. */
export type LangGraphSettings<K extends object> = LangGraphOptions<K> & AdapterSettings;

/** A graph with a checkpointer of its own. */
export type RememberingGraph = CompiledGraph & { checkpointer: Checkpointer };

/** Whether the graph keeps its threads. A graph that inherits the checkpointer of another has `true` instead. */
export function hasMemory(graph: CompiledGraph): graph is RememberingGraph {
  return typeof graph.checkpointer === 'object' && graph.checkpointer !== null;
}
