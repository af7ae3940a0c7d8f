import type { FixName } from './fixes.js';
import { oneLine } from './one-line.js';

/** What a check has found. `unknown`: it could not check. */
export type Verdict = 'ok' | 'warning' | 'problem' | 'unknown';

/** The result of one check. */
export interface Finding {
  check: CheckName;
  verdict: Verdict;
  /** What was measured, as a sentence. */
  measured: string;
  /** What helps. */
  fix: FixName | undefined;
  /** The header that was lost or the prefix that was removed, for the fix. Default: the title of the check. */
  subject: string | undefined;
}

/**
 * The checks in the order of the report, with their titles.
 *
 * @example
 * const title = CHECKS[finding.check]; // 'Silent streams'
 */
export const CHECKS = {
  reachable: 'Service',
  health: 'Health',
  access: 'Access',
  credentials: 'Credentials',
  buffering: 'Events one by one',
  compression: 'Compression',
  idle: 'Silent streams',
  duration: 'Long streams',
  cuts: 'Cut streams',
  leaving: 'Leaving clients',
  bodies: 'Large bodies',
  uploads: 'Early refusals',
  accept: 'Accept',
  'last-event-id': 'Last-Event-ID',
  'idempotency-key': 'Idempotency-Key',
  'content-location': 'Content-Location',
  'cache-control': 'Cache-Control',
  delete: 'DELETE',
  'agent-card': 'Agent card',
  http2: 'HTTP/2',
  'http2-uploads': 'HTTP/2 refusals',
} as const;

/** The name of a check, as the JSON has it. */
export type CheckName = keyof typeof CHECKS;

/** What was measured may have the words of a hostile server. */
const MOST_CHARACTERS = 600;

/** Makes the function that makes findings of one verdict. */
const finding =
  (verdict: Verdict) =>
  (check: CheckName, measured: string, fix?: FixName, subject?: string): Finding => ({
    check,
    verdict,
    measured: oneLine(measured, MOST_CHARACTERS),
    fix,
    subject,
  });

export const ok = finding('ok');
export const warning = finding('warning');
export const problem = finding('problem');
export const unknown = finding('unknown');

/** A time for people, such as `0.25 s`. */
export function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
}
