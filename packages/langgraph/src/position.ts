/** Where an attempt of a run has come in the thread of its graph: the state of its checkpoints. */
export interface Position {
  /** The checkpoint before the run; null for a new thread. */
  before: string | null;
  /** The checkpoint of the last step whose envelopes were passed on; absent before the first. */
  at?: string;
  /** Present if that was the last step of the graph. */
  isDone?: true;
  /** The structured response of the graph, as soon as a node has returned one. */
  structured?: unknown;
  /**
   * Present if the graph asks in the next step: marks of the messages of that step that were passed on. Their ids do not say
   * that, because most get one only when the step has ended.
   */
  asks?: string[];
}
