import type { FixName } from './fixes.js';

/** What a check has found. `unknown`: it could not check. */
export type Verdict = 'ok' | 'warning' | 'problem' | 'unknown';

/** The result of one check. */
export interface Finding {
  check: CheckName;
  verdict: Verdict;
  /** What was measured, as a sentence. */
  measured: string;
  /** What helps. */
  fix?: FixName;
  /** The header that was lost or the prefix that was removed, for the fix. */
  subject?: string;
}

/** The checks in the order of the report, with their titles. */
export const CHECKS = {
  reachable: 'Service',
  buffering: 'Events one by one',
  compression: 'Compression',
  idle: 'Silent streams',
  duration: 'Long streams',
  bodies: 'Large bodies',
  uploads: 'Early refusals',
  accept: 'Accept',
  'last-event-id': 'Last-Event-ID',
  'idempotency-key': 'Idempotency-Key',
  'content-location': 'Content-Location',
  'cache-control': 'Cache-Control',
  delete: 'DELETE',
  http2: 'HTTP/2',
} as const;

/** The name of a check, as the JSON has it. */
export type CheckName = keyof typeof CHECKS;

export const ok = (check: CheckName, measured: string): Finding => ({ check, verdict: 'ok', measured });
export const unknown = (check: CheckName, measured: string): Finding => ({
  check,
  verdict: 'unknown',
  measured,
});
export const warning = (check: CheckName, measured: string, fix: FixName, subject?: string): Finding =>
  withFix(check, 'warning', measured, fix, subject);
export const problem = (check: CheckName, measured: string, fix?: FixName, subject?: string): Finding =>
  withFix(check, 'problem', measured, fix, subject);

function withFix(
  check: CheckName,
  verdict: Verdict,
  measured: string,
  fix: FixName | undefined,
  subject: string | undefined,
): Finding {
  return {
    check,
    verdict,
    measured,
    ...(fix !== undefined && { fix }),
    ...(subject !== undefined && { subject }),
  };
}

/** A time for people, such as `0.25 s`. */
export function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
}
