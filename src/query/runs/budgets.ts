import type { UsageEnvelope } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import type { Budget } from '../options/query.options.js';
import type { Settings } from '../options/settings.js';
import type { RunStore } from '../ports/run-store.js';
import { firstDayOf, PRICE_PARTS, timeOfDay } from '../ports/usage-rules.js';
import type { Used } from '../ports/usage-store.js';
import { ownerOfModule } from '../sharing/owners.js';

/** A greater number of tokens, or a greater price, is a mistake: sums of them would not be exact. */
const MOST = { tokens: 1e12, price: 1e9 };

/** What owners use: its price, and whether it exceeds their budgets. */
export class Budgets {
  constructor(
    private readonly store: RunStore,
    private readonly settings: Settings,
  ) {}

  /**
   * What the store adds up for the data of a `usage` envelope.
   *
   * @param owner as the store has it
   * @throws {RangeError} the option `price` has returned no price
   */
  used(owner: string, usage: UsageEnvelope['data']): Used {
    const { model, inputTokens, outputTokens, reasoningTokens = 0, cachedInputTokens = 0 } = usage;
    const { price: priceOf = () => 0 } = this.settings;
    const price = priceOf(usage, ownerOfModule(owner).owner);
    if (!(price >= 0 && price <= MOST.price))
      throw new RangeError(
        `The option "price" has returned ${price}; it must be a number from 0 to ${MOST.price}.`,
      );
    const counted = (tokens: number) => Math.round(Math.min(tokens, MOST.tokens));
    return {
      model,
      inputTokens: counted(inputTokens),
      outputTokens: counted(outputTokens),
      reasoningTokens: counted(reasoningTokens),
      cachedInputTokens: counted(cachedInputTokens),
      price: Math.round(price * PRICE_PARTS),
    };
  }

  /**
   * Why an owner may begin no query: a limit is reached. Undefined if none is.
   *
   * @param owner as the store has it
   * @throws {QueryError} `unavailable`
   */
  reached(owner: string): Promise<QueryError | undefined> {
    return this.#find(
      owner,
      () => true,
      (spent, limit) => spent >= limit,
    );
  }

  /** Why a run of an owner must not go on: a limit of a hard budget is exceeded. The rest as for `reached`. */
  exceeded(owner: string): Promise<QueryError | undefined> {
    return this.#find(
      owner,
      ({ hard }) => hard === true,
      (spent, limit) => spent > limit,
    );
  }

  async #find(
    owner: string,
    counts: (budget: Budget) => boolean,
    isOver: (spent: number, limit: number) => boolean,
  ): Promise<QueryError | undefined> {
    const all = await this.settings.budgets!(ownerOfModule(owner).owner);
    const budgets = all.filter(counts);
    const spent = await Promise.all(budgets.map(async ({ per }) => this.store.usage!.spent(owner, per)));
    const over = budgets.filter(({ tokens = Infinity, price = Infinity }, index) => {
      const used = spent[index]!;
      return isOver(used.tokens, tokens) || isOver(used.price, Math.round(price * PRICE_PARTS));
    });
    // A month ends after each of its days.
    const longest = over.find(({ per }) => per === 'month') ?? over[0];
    return longest && budgetExceeded(longest);
  }
}

function budgetExceeded({ per }: Budget): QueryError {
  const now = Date.now();
  const next = timeOfDay(firstDayOf(per, now, 1));
  const detail = `Your budget for this ${per} is used up. The next one begins at ${new Date(next).toISOString()}.`;
  return new QueryError('budget_exceeded', detail, { retryAfter: Math.ceil((next - now) / 1000) });
}
