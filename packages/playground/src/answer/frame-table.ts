/** A number as people write it: with a sign, a currency, groups of digits, an exponent, and a percent sign or a short unit. */
const NUMBER = /^[-+−]?[$€£¥]? ?\d[\d.,'’_  ]*(?:e[-+]?\d+)?(?: ?%| [a-zµ°]{1,3})?$/i;

/** What stands where a number is missing. */
const MISSING = /^(?:|[-–—]|null|n\/a|nan)$/i;

/** Cells with more characters break into lines. Shorter ones do not: a column of single words is hard to read. */
const ONE_LINE = 32;

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
  const numbers = texts.filter((text) => NUMBER.test(text));
  return numbers.length > 0 && texts.every((text) => NUMBER.test(text) || MISSING.test(text));
}

function textOf({ textContent }: HTMLElement): string {
  return textContent.trim();
}
