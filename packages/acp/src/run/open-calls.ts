import { type Envelope, toolResult } from 'nest-agent-query';
import { notExecuted } from 'nest-agent-query-adapters';

const LOST = 'The process of the agent was lost before the call had ended.';

/** The calls of a run that callers have read, and that have no result yet. */
export class OpenCalls {
  readonly #ids: Set<string>;

  constructor(ids: readonly string[] = []) {
    this.#ids = new Set(ids);
  }

  get ids(): string[] {
    return [...this.#ids];
  }

  note({ type, data }: Envelope): void {
    if (type === 'tool_call') this.#ids.add((data as { id: string }).id);
    else if (type === 'tool_result') this.#ids.delete((data as { id: string }).id);
  }

  /** Results for all of them, whose process was lost. */
  lost(): Envelope[] {
    const results = this.ids.map((id) => toolResult(id, notExecuted(LOST), { isError: true }));
    this.#ids.clear();
    return results;
  }
}
