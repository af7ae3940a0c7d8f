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
  for (const column of columnsOf(table))
    if (hasNumbers(column)) for (const cell of column) cell.align = 'right';
}

/** The cells of each column, if each row has one cell for each. */
function columnsOf({ rows }: HTMLTableElement): HTMLTableCellElement[][] {
  const grid = Array.from(rows, ({ cells }) => [...cells]);
  const isPlain = grid.flat().every(({ colSpan, rowSpan }) => colSpan === 1 && rowSpan === 1);
  if (!isPlain) return [];
  return (grid[0] ?? []).map((_, at) => grid.flatMap((row) => row[at] ?? []));
}

/** Whether a column has nothing but numbers below its heading. What the agent has aligned stays as it is. */
function hasNumbers(column: HTMLTableCellElement[]): boolean {
  if (column.some(({ align }) => align !== '')) return false;
  const texts = column.filter(({ tagName }) => tagName === 'TD').map(textOf);
  return texts.some(isNumber) && texts.every((text) => isNumber(text) || isMissing(text));
}

function textOf({ textContent }: HTMLElement): string {
  return textContent.trim();
}

/** Whether safe HTML begins with a table in its frame. */
export function isTable(html: string): boolean {
  return html.startsWith(FRAMED);
}
