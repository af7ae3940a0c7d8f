import { hash } from 'node:crypto';
import { pageFrom } from '../contract/list-page.js';
import { addTokens, dayOf, firstDayOf, USAGE_DAYS } from '../ports/usage-rules.js';
import {
  type BudgetPeriod,
  type UsagePage,
  type UsageRecord,
  UsageStore,
  type Used,
} from '../ports/usage-store.js';
import type { Run } from './run.js';

/** What an entry of a list costs besides its name, in characters. */
const OVERHEAD = 256;

/** What an owner has used on one day, in one session, with one model. */
interface Sum extends Used {
  readonly day: number;
  readonly sessionId: string | undefined;
  runs: number;
}

/** What owners have used, in the memory of this process. */
export class MemoryUsageStore extends UsageStore {
  /** By owner and session. */
  readonly #sums = new Map<string, Map<string | undefined, Sum[]>>();
  /** The day on which what was too old was dropped. */
  #sweptOn = 0;

  /** @param sweepAll drops what is no longer kept, also here */
  constructor(private readonly sweepAll: () => void) {
    super();
  }

  add(run: Run, used: Used): void {
    const sum = this.#sumOf(run.owner, run.sessionId, dayOf(Date.now()), used.model);
    addTokens(sum, used);
    if (!run.hasUsage) sum.runs++;
    run.hasUsage = true;
  }

  /** The session is not kept any more: its usage belongs to no session. */
  forget(owner: string, sessionId: string): void {
    const sessions = this.#sums.get(owner);
    const sums = sessions?.get(sessionId) ?? [];
    sessions?.delete(sessionId);
    for (const forgotten of sums) {
      const sum = this.#sumOf(owner, undefined, forgotten.day, forgotten.model);
      addTokens(sum, forgotten);
      sum.runs += forgotten.runs;
    }
  }

  erase(owner: string): number {
    const sums = new Set(this.#of(owner).map(({ day, model }) => JSON.stringify([day, model])));
    this.#sums.delete(owner);
    return sums.size;
  }

  /** Drops what is too old, of all owners, once a day. */
  sweep(): void {
    const today = dayOf(Date.now());
    if (this.#sweptOn === today) return;
    this.#sweptOn = today;
    for (const [owner, sessions] of this.#sums) {
      for (const [sessionId, sums] of sessions) {
        const kept = sums.filter(({ day }) => day >= today - USAGE_DAYS);
        if (kept.length > 0) sessions.set(sessionId, kept);
        else sessions.delete(sessionId);
      }
      if (sessions.size === 0) this.#sums.delete(owner);
    }
  }

  sums(owner: string, { from, to, sessionId, by, ...page }: UsagePage) {
    this.sweepAll();
    const groups = new Map<string, UsageRecord & { at: number; key: string }>();
    for (const sum of this.#of(owner)) {
      const { day, runs } = sum;
      if (day < from || day > to || (sessionId !== undefined && sum.sessionId !== sessionId)) continue;
      const of = { day, model: sum.model, session: sum.sessionId }[by];
      const key = hash('sha256', JSON.stringify([of]), 'base64url');
      const group = groups.get(key) ?? { ...NOTHING, of, at: day, key };
      addTokens(group, sum);
      group.runs += runs;
      group.at = Math.max(group.at, day);
      groups.set(key, group);
    }
    const { after } = page;
    const isAfter = ({ at, key }: { at: number; key: string }) =>
      !after || at < after.at || (at === after.at && key < after.key);
    const listed = [...groups.values()]
      .sort((a, b) => b.at - a.at || (a.key < b.key ? 1 : -1))
      .filter(isAfter);
    const { entries, next } = pageFrom(
      listed,
      page,
      ({ of }) => OVERHEAD + String(of).length,
      ({ at, key }) => ({ at, key }),
    );
    return { sums: entries.map(({ at: _at, key: _key, ...record }) => record), next };
  }

  spent(owner: string, per: BudgetPeriod): { tokens: number; price: number } {
    const since = firstDayOf(per, Date.now());
    const spent = { tokens: 0, price: 0 };
    for (const { day, inputTokens, outputTokens, price } of this.#of(owner)) {
      if (day < since) continue;
      spent.tokens += inputTokens + outputTokens;
      spent.price += price;
    }
    return spent;
  }

  #of(owner: string): Sum[] {
    return [...(this.#sums.get(owner)?.values() ?? [])].flat();
  }

  #sumOf(owner: string, sessionId: string | undefined, day: number, model: string | undefined): Sum {
    const sessions = this.#sums.get(owner) ?? new Map<string | undefined, Sum[]>();
    const sums = sessions.get(sessionId) ?? [];
    const found = sums.find((each) => each.day === day && each.model === model);
    if (found) return found;
    const sum = { ...NOTHING, day, sessionId, model };
    this.#sums.set(owner, sessions.set(sessionId, [...sums, sum]));
    return sum;
  }
}

const NOTHING = {
  runs: 0,
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cachedInputTokens: 0,
  price: 0,
};
