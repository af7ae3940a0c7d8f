import { type Envelope, message } from 'nest-agent-query';
import { questionWithoutSession } from './failures.js';
import type { GraphInterrupt } from './graph-options.js';

/** The name of interrupts among the updates of a graph. */
const INTERRUPT = '__interrupt__';

/** What the nodes of a graph ask with `interrupt()`, each question once. */
export class Questions {
  readonly #asked = new Set<string>();

  /** @param hasSession whether an answer can reach the graph */
  constructor(private readonly hasSession: boolean) {}

  /**
   * The questions in an update.
   *
   * @throws {QueryError} `invalid_query`: the run has no session
   */
  *in(update: Record<string, unknown>): Generator<Envelope> {
    const interrupts = update[INTERRUPT] as GraphInterrupt[] | undefined;
    if (!interrupts) return;
    if (!this.hasSession) throw questionWithoutSession();
    // Where a graph is told to stop at a node, it asks nothing.
    if (interrupts.length === 0) yield { type: 'interrupt', data: { value: null } };
    for (const { id, value = null } of interrupts) {
      if (id !== undefined && this.#asked.has(id)) continue;
      if (id !== undefined) this.#asked.add(id);
      // Callers that do not know interrupts see the question too.
      if (typeof value === 'string') yield message(value, { id });
      yield { type: 'interrupt', data: { ...(id !== undefined && { id }), value } };
    }
  }
}
