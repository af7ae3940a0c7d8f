import {
  AgentHandler,
  type Envelope,
  type Query,
  type QueryContext,
  type SessionRef,
} from 'nest-agent-query';
import { adapterSettings, distinctCalls, threadOf } from 'nest-agent-query-adapters';
import { type CompiledGraph, hasMemory, type LangGraphOptions } from './graph-options.js';
import { GraphRun } from './graph-run.js';
import { Thread } from './thread.js';

/**
 * Makes a handler that answers with a compiled graph of LangGraph.js.
 *
 * With a checkpointer, the graph remembers the session in a thread of its own, and a run continues after its process was lost.
 * Without one, the graph is given the history with each query.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 * @param graph what `.compile()` or `createReactAgent` returns; of an agent of `langchain`, its member `graph`
 * @throws {TypeError} the graph is not compiled · {RangeError} a number is out of its range
 *
 * @example
 * const graph = createReactAgent({ llm, tools, checkpointer });
 * QueryModule.forRoot({ handler: fromLangGraph(graph) });
 */
export function fromLangGraph<K extends object = Record<string, unknown>>(
  graph: CompiledGraph,
  options: LangGraphOptions<K> = {},
): AgentHandler<K> {
  if (typeof (graph as Partial<CompiledGraph> | undefined)?.stream !== 'function')
    throw new TypeError('fromLangGraph needs a compiled graph: what `.compile()` returns.');
  return new LangGraphHandler(graph, options);
}

const OWN = { input: true, config: true, textNodes: true, subgraphs: true } as const;

class LangGraphHandler<K extends object> extends AgentHandler<K> {
  override readonly restarts: number;

  readonly #settings;

  constructor(
    private readonly graph: CompiledGraph,
    options: LangGraphOptions<K>,
  ) {
    super();
    this.#settings = adapterSettings<LangGraphOptions<K>>(
      options,
      hasMemory(graph) ? {} : { restarts: 0 },
      OWN,
    );
    this.restarts = this.#settings.restarts;
  }

  override handle(query: Query<K>, context: QueryContext): AsyncGenerator<Envelope> {
    return distinctCalls(context, (run) => new GraphRun(this.graph, query, run, this.#settings).envelopes());
  }

  override async sessionErased(session: SessionRef): Promise<void> {
    if (hasMemory(this.graph)) await new Thread(this.graph, threadOf(session)).delete();
  }
}
