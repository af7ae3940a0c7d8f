import { countsOf, type Report, type Result } from '../report.js';

/**
 * A report as JSON: its members, and `counts` of the outcomes.
 *
 * @example
 * await writeFile('conformance.json', jsonOfReport(report));
 */
export function jsonOfReport(report: Report): string {
  return `${JSON.stringify({ ...report, counts: countsOf(report) }, null, 2)}\n`;
}

/**
 * A report as JUnit XML, as CI services read it: a suite per level, a case per promise.
 *
 * @example
 * await writeFile('conformance.xml', junitOfReport(report));
 */
export function junitOfReport(report: Report): string {
  const suites = report.levels.map((level) => suite(level, report));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="conformance ${report.edition}" ${totals(report.results)}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function suite(level: string, { results, endpoint }: Report): string {
  const own = results.filter((result) => result.level === level);
  const open = `  <testsuite name="${level}" hostname="${xml(endpoint)}" ${totals(own)}>`;
  return [open, ...own.map(testCase), '  </testsuite>'].join('\n');
}

function totals(results: Result[]): string {
  const { failed, skipped } = countsOf({ results });
  const seconds = results.reduce((sum, { ms }) => sum + ms, 0) / 1_000;
  return `tests="${results.length}" failures="${failed}" errors="0" skipped="${skipped}" time="${seconds}"`;
}

function testCase({ id, level, sentence, outcome, expected, seen, reason, ms }: Result): string {
  const open = `    <testcase classname="${level}" name="${xml(`${id}: ${sentence}`)}" time="${ms / 1_000}"`;
  if (outcome === 'passed') return `${open}/>`;
  const inside =
    outcome === 'skipped'
      ? `<skipped message="${xml(reason!)}"/>`
      : `<failure message="${xml(`expected ${expected}`)}">${xml(`expected: ${expected}\nseen: ${seen}`)}</failure>`;
  return `${open}>\n      ${inside}\n    </testcase>`;
}

/** Text for an attribute or an element. Characters that XML 1.0 §2.2 does not have become U+FFFD. */
function xml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
