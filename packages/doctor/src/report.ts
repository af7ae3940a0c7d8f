import { CHECKS, type Finding } from './finding.js';
import { type Remedy, remediesOf } from './remedies.js';
import type { SeenProxy } from './proxies.js';

/** What all checks have found. */
export interface Report {
  /** The endpoint that was examined. */
  url: string;
  /** The proxies that show themselves in headers. */
  proxies: SeenProxy[];
  /** In the order of `CHECKS`. */
  findings: Finding[];
  /** 0: all is fine or could not be checked; 1: there is a problem; 3: access was refused; 4: nobody answers. */
  exitCode: number;
}

/**
 * The report for programs: JSON in lines.
 *
 * @example
 * await writeFile('report.json', jsonOfReport(await examine(target, { idle: 65, body: 8 * 1024 * 1024 })));
 */
export function jsonOfReport({ url, proxies, findings, exitCode }: Report): string {
  const shown = findings.map((finding) => {
    const { check, verdict, measured } = finding;
    return { check, verdict, measured, fixes: remediesFor(finding, proxies) };
  });
  return `${JSON.stringify({ url, proxies, findings: shown, exitCode }, null, 2)}\n`;
}

/**
 * What helps against a problem: for each proxy that was seen, or for all known ones if none shows itself.
 *
 * @example
 * const texts = remediesFor(finding, report.proxies).map(({ text }) => text);
 */
export function remediesFor(
  { check, fix, subject = CHECKS[check] }: Finding,
  proxies: SeenProxy[],
): Remedy[] {
  return fix === undefined ? [] : remediesOf(fix, subject, proxies);
}
