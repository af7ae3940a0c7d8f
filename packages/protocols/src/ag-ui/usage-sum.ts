import type { UsageEnvelope } from 'nest-agent-query';

type Tokens = Omit<UsageEnvelope['data'], 'model'>;

/** What the models of a run have used, as AG-UI tells it: one entry for each, with whole numbers. */
export class UsageSum {
  readonly #sums = new Map<string | undefined, Tokens>();

  add({ model, ...tokens }: UsageEnvelope['data']): void {
    const sum: Tokens = this.#sums.get(model) ?? { inputTokens: 0, outputTokens: 0 };
    for (const [name, count] of Object.entries(tokens) as [keyof Tokens, number][])
      sum[name] = (sum[name] ?? 0) + Math.round(count);
    this.#sums.set(model, sum);
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
