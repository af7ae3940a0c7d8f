import { isMissing, isNumber } from './shown-number.js';

/** Cells with more characters break into lines. Shorter ones do not: a column of single words is hard to read. */
const ONE_LINE = 32;

/** How the HTML of a table in its frame begins. */
const FRAMED = '<div class="table"';

/** Puts a table into a frame that scrolls. Its class and its alignment are no part of what the agent wrote. */
export function frameTable(table: HTMLTableElement): void {
  const frame = document.createElement('div');
  frame.className = 'table';
  frame.tabIndex = 0;
  frame.setAttribute('role', 'group');
  frame.setAttribute('aria-label', 'Table');
  table.replaceWith(frame);
  frame.append(table);
  for (const { cells } of table.rows)
    for (const cell of cells) if (textOf(cell).length > ONE_LINE) cell.classList.add('long');
  columnsOf(table).forEach((column, at) => {
    groupDigits(column);
    alignNumbers(column, at === 0);
  });
}

/** The cells of each column, if each row has one cell for each. */
function columnsOf({ rows }: HTMLTableElement): HTMLTableCellElement[][] {
  const grid = Array.from(rows, ({ cells }) => [...cells]);
  const isPlain = grid.flat().every(({ colSpan, rowSpan }) => colSpan === 1 && rowSpan === 1);
  if (!isPlain) return [];
  return (grid[0] ?? []).map((_, at) => grid.flatMap((row) => row[at] ?? []));
}

/**
 * Aligns numbers to the right: a column of numbers with its heading, and those of a column that has texts too. There, the first
 * column names the rows and stays as it is. So does what the agent has aligned.
 */
function alignNumbers(column: HTMLTableCellElement[], isFirst: boolean): void {
  if (column.some(({ align }) => align !== '')) return;
  const filled = column.filter((cell) => cell.tagName === 'TD' && !isMissing(textOf(cell)));
  const numbers = filled.filter((cell) => isNumber(textOf(cell)));
  if (numbers.length === 0) return;
  const isMixed = numbers.length < filled.length;
  if (isMixed && (isFirst || column.some(({ classList }) => classList.contains('long')))) return;
  const isMostly = numbers.length * 2 >= filled.length;
  const headings = isMostly ? column.filter(({ tagName }) => tagName === 'TH') : [];
  for (const cell of isMixed ? [...headings, ...numbers] : column) cell.align = 'right';
}

/** A number whose groups of digits have commas between them, and one of more than three digits without. */
const GROUPED = /^\D*\d{1,3}(?:,\d{3})+(?:\.\d+)?\D*$/;
const UNGROUPED = /^\D*\d{4,}(?:\.\d+)?\D*$/;

/** Gives all numbers of a column commas between their groups of digits, if one of them has. A decimal comma leaves them as they are. */
function groupDigits(column: HTMLTableCellElement[]): void {
  const numbers = column.filter((cell) => isNumber(textOf(cell)));
  const withCommas = numbers.map(textOf).filter((text) => text.includes(','));
  if (withCommas.length === 0 || !withCommas.every((text) => GROUPED.test(text))) return;
  for (const cell of numbers) {
    const text = textOf(cell);
    if (cell.childElementCount === 0 && UNGROUPED.test(text))
      cell.textContent = text.replace(/\d+/, (digits) => digits.replace(/\B(?=(?:\d{3})+$)/g, ','));
  }
}

function textOf({ textContent }: HTMLElement): string {
  return textContent.trim();
}

/** Whether safe HTML begins with a table in its frame. */
export function isTable(html: string): boolean {
  return html.startsWith(FRAMED);
}
