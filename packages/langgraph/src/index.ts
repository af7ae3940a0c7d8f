/** The adapter for graphs of LangGraph.js, as hosts import it from `nest-agent-query-langgraph`. */
export { fromLangGraph } from './from-langgraph.js';
export type {
  Checkpointer,
  CheckpointTuple,
  CompiledGraph,
  GraphConfig,
  LangGraphOptions,
} from './graph-options.js';
