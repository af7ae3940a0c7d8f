/**
 * What the models have used for the caller, added up for one day, one model or one session. A run counts once: on the day of
 * its first usage, and for the model of that. Attempts that became void count too.
 */
export interface UsageSum {
  /** `by=day`: the day in UTC, such as `2026-11-25`. */
  day?: string;
  /** `by=model`: the name of the model; null for usage that names none. */
  model?: string | null;
  /** `by=session`: the session; null for runs without one, and for sessions that are no longer kept. */
  session?: string | null;
  runs: number;
  inputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  cachedInputTokens: number;
  /** In the unit of the host, to six decimal places. Present if the host has given prices. */
  price?: number;
}

/** A page of what the caller has used, as `GET {base}/query/usage` returns it. */
export interface UsageList {
  /** Last used first. */
  usage: UsageSum[];
  /** The value of `after` for the next page; null at the end. */
  next: string | null;
}
