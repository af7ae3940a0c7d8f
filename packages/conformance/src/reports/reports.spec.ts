import type { Report, Result } from '../report.js';
import { jsonOfReport, junitOfReport } from './for-programs.js';
import { textOfResult, textOfSummary } from './terminal.js';

const promise = { level: 'core', edition: '2026-12', section: '1', sentence: 'It holds.' } as const;
const RESULTS: Result[] = [
  { ...promise, id: 'core.a', outcome: 'passed', ms: 5 },
  { ...promise, id: 'core.b', outcome: 'failed', expected: '"<1>" & 2', seen: 'nothing\u0007', ms: 10 },
  { ...promise, id: 'core.c', outcome: 'skipped', reason: 'it needs a credential', ms: 0 },
];
const REPORT: Report = {
  edition: '2026-12',
  endpoint: 'http://127.0.0.1:3000/query',
  levels: ['core', 'files'],
  results: RESULTS,
  isComplete: true,
  exitCode: 1,
};

describe('The report', () => {
  it('is a line for each promise on a terminal, and two more where it is broken', () => {
    expect(RESULTS.map((result) => textOfResult(result, false)).join('')).toBe(
      '✓ core.a  It holds.\n' +
        '✗ core.b  It holds.\n' +
        '    expected: "<1>" & 2\n' +
        '    seen:     nothing\u0007\n' +
        '- core.c  It holds.\n' +
        '    skipped: it needs a credential\n',
    );
    expect(textOfResult(RESULTS[0]!, true)).toBe('\u001b[32m✓\u001b[0m core.a  It holds.\n');
  });

  it('has a summary, which says whether it was interrupted', () => {
    const summary = '\nEdition 2026-12, levels core, files: 1 passed, 1 failed, 1 skipped, in 0.0 s';
    expect(textOfSummary(REPORT)).toBe(`${summary}\n`);
    expect(textOfSummary({ ...REPORT, isComplete: false })).toBe(`${summary}; interrupted\n`);
  });

  it('is JSON with the counts', () => {
    expect(JSON.parse(jsonOfReport(REPORT))).toEqual({
      ...REPORT,
      counts: { passed: 1, failed: 1, skipped: 1 },
    });
  });

  it('is JUnit XML, in which what a service has sent is text', () => {
    expect(junitOfReport(REPORT)).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="conformance 2026-12" tests="3" failures="1" errors="0" skipped="1" time="0.015">
  <testsuite name="core" hostname="http://127.0.0.1:3000/query" tests="3" failures="1" errors="0" skipped="1" time="0.015">
    <testcase classname="core" name="core.a: It holds." time="0.005"/>
    <testcase classname="core" name="core.b: It holds." time="0.01">
      <failure message="expected &#34;&#60;1&#62;&#34; &#38; 2">expected: &#34;&#60;1&#62;&#34; &#38; 2
seen: nothing\ufffd</failure>
    </testcase>
    <testcase classname="core" name="core.c: It holds." time="0">
      <skipped message="it needs a credential"/>
    </testcase>
  </testsuite>
  <testsuite name="files" hostname="http://127.0.0.1:3000/query" tests="0" failures="0" errors="0" skipped="0" time="0">
  </testsuite>
</testsuites>
`);
  });
});
