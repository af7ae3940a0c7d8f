import type { Edition, Level } from './promise.js';

/** What the check of one promise has found. */
export interface Result {
  id: string;
  level: Level;
  edition: Edition;
  section: string;
  sentence: string;
  /** `skipped`: it could not be checked. */
  outcome: 'passed' | 'failed' | 'skipped';
  /** What was expected and what was seen instead, where it failed. */
  expected?: string;
  seen?: string;
  /** Why it was skipped. */
  reason?: string;
  /** Milliseconds. */
  ms: number;
}

/** What all checks have found. */
export interface Report {
  edition: Edition;
  /** The endpoint that was examined. */
  endpoint: string;
  levels: readonly Level[];
  /** In the order of `PROMISES`. */
  results: Result[];
  /** Whether all chosen promises were checked: false where the checks were interrupted. */
  isComplete: boolean;
  /** 0: no promise was found broken; 1: one was, or the checks were interrupted. */
  exitCode: 0 | 1;
}

/** How many results have each outcome. */
export function countsOf({ results }: Pick<Report, 'results'>) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { outcome } of results) counts[outcome]++;
  return counts;
}
