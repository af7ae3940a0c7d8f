import { countsOf, type Report, type Result } from '../report.js';

const MARKS = { passed: ['✓', 32], failed: ['✗', 31], skipped: ['-', 33] } as const;

/** A result as lines for people: one, and where it failed two more. */
export function textOfResult(
  { id, sentence, outcome, expected, seen, reason }: Result,
  isColoured: boolean,
): string {
  const [mark, colour] = MARKS[outcome];
  const shownMark = isColoured ? `\u001b[${colour}m${mark}\u001b[0m` : mark;
  const details =
    outcome === 'failed'
      ? [`    expected: ${expected}`, `    seen:     ${seen}`]
      : outcome === 'skipped'
        ? [`    skipped: ${reason}`]
        : [];
  return [`${shownMark} ${id}  ${sentence}`, ...details, ''].join('\n');
}

/** The last line. */
export function textOfSummary(report: Report): string {
  const { passed, failed, skipped } = countsOf(report);
  const seconds = report.results.reduce((sum, { ms }) => sum + ms, 0) / 1_000;
  return (
    `\nEdition ${report.edition}, levels ${report.levels.join(', ')}: ` +
    `${passed} passed, ${failed} failed, ${skipped} skipped, in ${seconds.toFixed(1)} s` +
    (report.isComplete ? '\n' : '; interrupted\n')
  );
}
