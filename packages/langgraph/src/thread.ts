import { type GraphMessage, messagesIn } from './answer-reader.js';
import type { CheckpointTuple, GraphInterrupt, RememberingGraph } from './graph-options.js';

/** What a checkpointer keeps of a task that has not ended, under these names. A task that has ended has others. */
const CONTROL = new Set(['__error__', '__error_source_node__', '__interrupt__', '__resume__']);

/** Where a thread is now. */
export interface ThreadState {
  checkpoint: string;
  messages: GraphMessage[];
  /** What nodes have returned in the step that has not ended. */
  pending: GraphMessage[];
  /** Whether nodes remain to be executed. */
  isOpen: boolean;
  /** What the graph has asked and nobody has answered, oldest first. */
  interrupts: GraphInterrupt[];
}

/** What a graph remembers of a conversation. */
export class Thread {
  constructor(
    private readonly graph: RememberingGraph,
    readonly id: string,
  ) {}

  /** Its state; undefined for a new thread. */
  async state(): Promise<ThreadState | undefined> {
    const tuple = await this.graph.checkpointer.getTuple(this.#at());
    const checkpoint = tuple?.config.configurable?.['checkpoint_id'];
    if (typeof checkpoint !== 'string') return undefined;
    // Without the id, the state has what nodes have returned in a step that has not ended, as if the step had.
    const { values, next } = await this.graph.getState(this.#at(checkpoint));
    return {
      checkpoint,
      messages: messagesIn(values),
      isOpen: next.length > 0,
      pending: pendingOf(tuple!),
      interrupts: interruptsOf(tuple!),
    };
  }

  /** Whether one of its checkpoints is kept. */
  async has(checkpoint: string): Promise<boolean> {
    return (await this.graph.checkpointer.getTuple(this.#at(checkpoint))) !== undefined;
  }

  /** The messages at one of its checkpoints; undefined if the checkpoint is not kept. */
  async messages(checkpoint: string): Promise<GraphMessage[] | undefined> {
    if (!(await this.has(checkpoint))) return undefined;
    return messagesIn((await this.graph.getState(this.#at(checkpoint))).values);
  }

  /**
   * Goes back to before the oldest of some executions, if it has one of them. Their checkpoints are kept, as those of a branch.
   *
   * @param isOf whether a message with this id is of one of them
   */
  async takeBack(isOf: (id: string | undefined) => boolean): Promise<void> {
    const newest = await this.graph.checkpointer.getTuple(this.#at());
    let tuple = newest;
    while (tuple && (await this.#messagesAt(tuple)).some(({ id }) => isOf(id)))
      tuple = await this.#beforeExecution(tuple);
    if (tuple === newest) return;
    if (tuple) await this.graph.updateState(tuple.config, null);
    else await this.delete();
  }

  async #messagesAt({ config }: CheckpointTuple): Promise<GraphMessage[]> {
    return messagesIn((await this.graph.getState(config)).values);
  }

  /** The last checkpoint before the execution that has made a checkpoint; undefined if there is none. */
  async #beforeExecution(made: CheckpointTuple): Promise<CheckpointTuple | undefined> {
    let tuple: CheckpointTuple | undefined = made;
    while (tuple && tuple.metadata?.source !== 'input') tuple = await this.#parentOf(tuple);
    return tuple && this.#parentOf(tuple);
  }

  async #parentOf({ parentConfig }: CheckpointTuple): Promise<CheckpointTuple | undefined> {
    return parentConfig && this.graph.checkpointer.getTuple(parentConfig);
  }

  async delete(): Promise<void> {
    await this.graph.checkpointer.deleteThread(this.id);
  }

  #at(checkpoint?: string): object {
    const at = checkpoint !== undefined && { checkpoint_id: checkpoint };
    return { configurable: { thread_id: this.id, checkpoint_ns: '', ...at } };
  }
}

function interruptsOf({ pendingWrites = [] }: CheckpointTuple): GraphInterrupt[] {
  const ended = endedTasks(pendingWrites);
  return pendingWrites
    .filter(([task, name]) => name === '__interrupt__' && !ended.has(task))
    .flatMap(([, , value]) => value as GraphInterrupt | GraphInterrupt[]);
}

function pendingOf({ pendingWrites = [] }: CheckpointTuple): GraphMessage[] {
  const ended = endedTasks(pendingWrites);
  return pendingWrites
    .filter(([task, name]) => ended.has(task) && !CONTROL.has(name))
    .flatMap(([, , value]) => messagesIn(value));
}

function endedTasks(writes: NonNullable<CheckpointTuple['pendingWrites']>): Set<string> {
  return new Set(writes.filter(([, name]) => !CONTROL.has(name)).map(([task]) => task));
}
