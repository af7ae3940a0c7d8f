import type { UsageList, UsageSum } from 'nest-agent-query-client';
import type { Settings } from '../options/settings.js';
import type { RunStore } from '../ports/run-store.js';
import { dayOf, firstDayOf, PRICE_PARTS, timeOfDay } from '../ports/usage-rules.js';
import type { UsageGroup, UsageRecord } from '../ports/usage-store.js';
import { LIST_OPTIONS, type ListOptions, listPageOf, nextOf } from './lists.js';
import { refuseUnknown } from '../contract/unknown-members.js';

/** What is added up, and which page of it. Days are in UTC, such as `2026-11-25`. */
export interface UsageListOptions extends ListOptions {
  /** What is added up in one sum. Default `day`. */
  by?: UsageGroup | undefined;
  /** The first day. Default: the first day of the month of the last one. */
  from?: string | undefined;
  /** The last day. Default: today. */
  to?: string | undefined;
  /** Only the usage of this session. Default: of all, and of runs without one. */
  session?: string | undefined;
}

const USAGE_LIST_OPTIONS: Record<keyof UsageListOptions, true> = {
  ...LIST_OPTIONS,
  by: true,
  from: true,
  to: true,
  session: true,
};

/** @param owner as the store has it */
export async function usageList(
  store: RunStore,
  settings: Settings,
  owner: string,
  options: UsageListOptions,
): Promise<UsageList> {
  refuseUnknown('AgentService.usage', options, USAGE_LIST_OPTIONS);
  const { by = 'day', session: sessionId } = options;
  const last = options.to === undefined ? Date.now() : Date.parse(options.to);
  const from = options.from === undefined ? firstDayOf('month', last) : dayOf(Date.parse(options.from));
  const page = { ...listPageOf(options), by, from, to: dayOf(last), sessionId };
  const { sums = [], next } = (await store.usage?.sums(owner, page)) ?? {};
  return { usage: sums.map((sum) => sumView(by, sum, settings.price !== undefined)), next: nextOf(next) };
}

function sumView(by: UsageGroup, { of, price, ...counts }: UsageRecord, hasPrice: boolean): UsageSum {
  const shown = by === 'day' ? new Date(timeOfDay(of as number)).toISOString().slice(0, 10) : (of ?? null);
  return { [by]: shown, ...counts, ...(hasPrice && { price: price / PRICE_PARTS }) };
}
