import type { UsageEnvelope } from 'nest-agent-query';
import { usageSum } from 'nest-agent-query/protocol';

type Usage = UsageEnvelope['data'];

/** What the models of a run have used, as AG-UI tells it: one entry for each, with whole numbers. */
export class UsageSum {
  readonly #sums = new Map<string | undefined, Usage>();

  add({ model, ...counts }: Usage): void {
    for (const [name, count] of Object.entries(counts) as [keyof typeof counts, number][])
      counts[name] = Math.round(count);
    this.#sums.set(model, usageSum(this.#sums.get(model), counts));
  }

  clear(): void {
    this.#sums.clear();
  }

  /** Undefined if nothing was used. */
  get list(): object[] | undefined {
    if (this.#sums.size === 0) return undefined;
    return [...this.#sums].map(([model, tokens]) => ({ model, ...tokens }));
  }
}
