import { Help } from 'commander';
import {
  CHECKS,
  type Finding,
  PROXIES,
  type Remedy,
  remediesFor,
  type Report,
  type SeenProxy,
  type Verdict,
} from 'nest-agent-query-doctor';
import { printableLine } from '../printable.js';

const SYMBOLS: Record<Verdict, string> = { ok: '✔', warning: '!', problem: '✖', unknown: '?' };

/** SGR codes (ECMA-48 §8.3.117). */
const COLOURS: Record<Verdict, number> = { ok: 32, warning: 33, problem: 31, unknown: 2 };

const TITLE_WIDTH = Math.max(...Object.values(CHECKS).map(({ length }) => length));

/** Commander breaks lines of help. Here it does so on narrow terminals too. */
const layout = Object.assign(new Help(), { minWidthToWrap: 1 });

/** How the report is shown. */
export interface Look {
  isColoured: boolean;
  /** The columns of the terminal; Infinity where there is none. */
  width: number;
}

/** The report for people. */
export function textOfReport(report: Report, { isColoured, width }: Look): string {
  const paint = (code: number, text: string) => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text);
  const lines = [report.url, `Proxies: ${proxiesInWords(report.proxies)}`, ''];
  for (const finding of report.findings) {
    const { verdict, check, measured } = finding;
    const symbol = paint(COLOURS[verdict], SYMBOLS[verdict]);
    const text = wrapped(printableLine(measured), width, TITLE_WIDTH + 4);
    lines.push(`${symbol} ${CHECKS[check].padEnd(TITLE_WIDTH)}  ${text}`);
    lines.push(...remedyLines(remediesFor(finding, report.proxies), width).map((line) => paint(2, line)));
  }
  return `${[...lines, '', summaryOf(report.findings)].join('\n')}\n`;
}

/** Breaks a text between words, and moves what follows a break below its beginning. */
function wrapped(text: string, width: number, indent: number): string {
  return layout.boxWrap(text, width - indent).replaceAll('\n', `\n${' '.repeat(indent)}`);
}

function remedyLines(remedies: Remedy[], width: number): string[] {
  const titles = Math.max(0, ...remedies.map(({ proxy = '' }) => proxy.length));
  const indent = ' '.repeat(4);
  return remedies.map(({ proxy, text }) =>
    proxy === undefined
      ? indent + wrapped(text, width, 4)
      : `${indent}${proxy.padEnd(titles)}  ${wrapped(text, width, titles + 6)}`,
  );
}

function proxiesInWords(proxies: SeenProxy[]): string {
  if (proxies.length === 0) return 'none shows itself (HAProxy and AWS ALB never do)';
  return proxies.map(proxyInWords).join(', ');
}

function proxyInWords({ name, header }: SeenProxy): string {
  const words =
    name === 'unknown' ? `${header}, which the doctor does not know` : `${PROXIES[name]} (${header})`;
  return printableLine(words);
}

function summaryOf(findings: Finding[]): string {
  const count = (verdict: Verdict) => findings.filter((each) => each.verdict === verdict).length;
  const parts = [
    `${count('ok')} fine`,
    `${count('problem')} ${count('problem') === 1 ? 'problem' : 'problems'}`,
    `${count('warning')} ${count('warning') === 1 ? 'warning' : 'warnings'}`,
    `${count('unknown')} not checked`,
  ];
  return `${parts.join(', ')}.`;
}
