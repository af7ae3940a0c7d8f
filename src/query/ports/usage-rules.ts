import type { BudgetPeriod, Tokens } from './usage-store.js';

/* What all stores do with usage in the same way. Times are milliseconds since the epoch. */

/**
 * How many days usage is kept at least: more than a year, so that a month can be compared with the one a year before.
 *
 * @example
 * removeBefore(dayOf(Date.now()) - USAGE_DAYS);
 */
export const USAGE_DAYS = 400;

/** Prices are kept as whole numbers of this part of their unit, so that sums are exact. */
export const PRICE_PARTS = 1_000_000;

const DAY_MS = 24 * 60 * 60_000;

/**
 * The day of a time: how many days have passed since 1970-01-01, in UTC.
 *
 * @example
 * const day = dayOf(Date.now());
 */
export function dayOf(time: number): number {
  return Math.floor(time / DAY_MS);
}

/** The time at which a day begins. */
export function timeOfDay(day: number): number {
  return day * DAY_MS;
}

/**
 * The first day of the period that a time belongs to.
 *
 * @param periods how many periods later. Default 0
 *
 * @example
 * const since = firstDayOf('month', Date.now());
 */
export function firstDayOf(per: BudgetPeriod, time: number, periods = 0): number {
  if (per === 'day') return dayOf(time) + periods;
  const date = new Date(time);
  return dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + periods));
}

/**
 * Adds usage to a sum.
 *
 * @example
 * addTokens(sums.of(run.owner), used);
 */
export function addTokens(sum: Tokens, added: Tokens): void {
  sum.inputTokens += added.inputTokens;
  sum.outputTokens += added.outputTokens;
  sum.reasoningTokens += added.reasoningTokens;
  sum.cachedInputTokens += added.cachedInputTokens;
  sum.price += added.price;
}
