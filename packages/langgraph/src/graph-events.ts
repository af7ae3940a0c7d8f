/** The modes of the stream that every execution has. */
export const STREAM_MODES = ['messages', 'tasks', 'updates', 'custom'] as const;

/** What LangGraph says about the origin of a chunk. All chunks of one call of a model share one object. */
export interface ChunkMetadata {
  langgraph_node?: string;
  langgraph_checkpoint_ns?: string;
}

/** A node of the graph has started or ended. */
export interface TaskEvent {
  id: string;
  name: string;
  /** Only at the begin. */
  input?: unknown;
  /** Only at the end. */
  result?: unknown;
}

/** A step of the graph is stored. */
export interface CheckpointEvent {
  config: { configurable?: { checkpoint_id?: string } };
  /** The nodes that are executed next; none at the end. */
  next: readonly string[];
}

/** An event of a graph: its mode and its payload. */
export type GraphEvent =
  | ['messages', [message: unknown, metadata: ChunkMetadata]]
  | ['tasks', TaskEvent]
  | ['updates', Record<string, unknown>]
  | ['custom', unknown]
  | ['checkpoints', CheckpointEvent];

/** An item of the stream of a graph. With the events of subgraphs, each has the subgraph before it. */
export function eventOf(item: unknown): GraphEvent {
  const event = item as [subgraph: string[], ...GraphEvent] | GraphEvent;
  return (event.length === 3 ? event.slice(1) : event) as GraphEvent;
}

/** Whether an item of the stream is of a subgraph. */
export function isOfSubgraph(item: unknown): boolean {
  const [subgraph] = item as unknown[];
  return Array.isArray(subgraph) && subgraph.length > 0;
}

/**
 * The tasks in which something is executed, as `node:id`, outermost first. In a subgraph there are several.
 *
 * @param metadata as chunks of LangGraph and callbacks of LangChain have it
 */
export function tasksOf(metadata: object | undefined): string[] {
  const { langgraph_checkpoint_ns: namespace } = (metadata ?? {}) as ChunkMetadata;
  return typeof namespace === 'string' ? namespace.split('|') : [];
}

/** The name by which `tasksOf` has a task. */
export function taskName({ name, id }: TaskEvent): string {
  return `${name}:${id}`;
}

/** Whether a payload of `custom` is an envelope. Nodes may write anything. */
export function isEnvelope(payload: unknown): payload is { type: string; data: unknown } {
  if (typeof payload !== 'object' || payload === null) return false;
  return 'type' in payload && typeof payload.type === 'string' && 'data' in payload;
}

/** The structured response in an update, as nodes of prebuilt agents return it. */
export function structuredIn(update: Record<string, unknown>): unknown {
  return Object.values(update)
    .map((returned) => (returned as { structuredResponse?: unknown } | null)?.structuredResponse)
    .findLast((value) => value !== undefined);
}
