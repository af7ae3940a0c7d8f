import { callId } from 'nest-agent-query-adapters';

/**
 * Gives a call another id where the conversation has had its id: some models count their calls from the beginning in each step.
 * Callers, and some endpoints, take equal ids for one call.
 */
export class DistinctCalls {
  readonly #had: Set<string>;

  /** @param ids of all calls that the conversation has had */
  constructor(
    private readonly runId: string,
    ids: Iterable<string>,
  ) {
    this.#had = new Set(ids);
  }

  /** Makes what is given the parts of one step in their order. @returns what gives each part with the id of its call */
  step(): <T extends { type: string }>(part: T) => T {
    /** The ids of the calls of this step, by those that the model has given. */
    const ids = new Map<string, string>();
    /** The calls that the model has said completely. */
    const said = new Set<string>();
    const begun = (id: string): string => {
      const known = ids.get(id);
      if (known !== undefined && !said.has(id)) return known;
      said.delete(id);
      const own = this.#had.has(id) ? callId(this.runId, `${this.#had.size}:${id}`) : id;
      this.#had.add(own);
      ids.set(id, own);
      return own;
    };
    return (part) => {
      const { type, id, toolCallId } = part as { type: string; id?: string; toolCallId?: string };
      if (id !== undefined && type === 'tool-input-start') return { ...part, id: begun(id) };
      if (id !== undefined && /^tool-input-(?:delta|end)$/.test(type))
        return { ...part, id: ids.get(id) ?? id };
      if (toolCallId === undefined) return part;
      if (type !== 'tool-call') return { ...part, toolCallId: ids.get(toolCallId) ?? toolCallId };
      const own = begun(toolCallId);
      said.add(toolCallId);
      return { ...part, toolCallId: own };
    };
  }
}
