import type { Tokens } from 'marked';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { inlineText, type Look } from './inline.js';

const GAP = '  ';
const LEAST_COLUMN = 4;

type Align = Tokens.TableCell['align'];

/** A table as lines whose columns are aligned. Where the terminal is too narrow, the widest cells have several lines. */
export function tableText({ header, rows, align }: Tokens.Table, look: Look): string {
  const heads = header.map(({ tokens }) => look.style(['bold'], inlineText(tokens, look)));
  const cells = [heads, ...rows.map((row) => row.map(({ tokens }) => inlineText(tokens, look)))];
  const natural = heads.map((_, column) =>
    Math.max(1, ...cells.map((row) => stringWidth(row[column] ?? ''))),
  );
  const widths = fitting(natural, look.width - GAP.length * (heads.length - 1));
  const rule = look.style(['dim'], widths.map((width) => '─'.repeat(width)).join(GAP));
  const [first, ...others] = cells.map((row) => rowText(row, widths, align));
  return [first, rule, ...others].join('\n');
}

/** Takes columns of the terminal from the widest columns of the table until all fit. */
function fitting(natural: number[], room: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) - room;
  while (excess > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest]! <= LEAST_COLUMN) break;
    widths[widest]! -= 1;
    excess -= 1;
  }
  return widths;
}

function rowText(row: string[], widths: number[], align: Align[]): string {
  const cells = widths.map((width, column) => wrapAnsi(row[column] ?? '', width, { hard: true }).split('\n'));
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, column) => aligned(lines[line] ?? '', widths[column]!, align[column]!))
      .join(GAP)
      .trimEnd(),
  ).join('\n');
}

function aligned(text: string, width: number, align: Align): string {
  const free = Math.max(0, width - stringWidth(text));
  const left = align === 'right' ? free : align === 'center' ? Math.floor(free / 2) : 0;
  return ' '.repeat(left) + text + ' '.repeat(free - left);
}
