import { code, moreOf, table } from '../markdown.js';

const SHOWN_ROWS = 4;
const SHOWN_COLUMNS = 8;

/** How a table of a document begins. Each cell is in its column, also where cells before or above it are merged. */
export class TableSketch {
  readonly #shown: string[][] = [];
  #rows = 0;
  #width = 0;
  #column = 0;
  /** For each column that is shown, the last row that a cell above covers. */
  readonly #covered: number[] = [];

  openRow(): void {
    this.#rows += 1;
    this.#column = 0;
    if (this.#rows <= SHOWN_ROWS) this.#shown.push([]);
  }

  /** @param columns and rows that the cell covers */
  addCell(text: string, columns: number, rows: number): void {
    if (this.#rows === 0) this.openRow();
    while (this.#column < SHOWN_COLUMNS && (this.#covered[this.#column] ?? 0) >= this.#rows)
      this.#column += 1;
    const end = this.#column + columns;
    const row = this.#rows <= SHOWN_ROWS ? this.#shown.at(-1) : undefined;
    if (row && this.#column < SHOWN_COLUMNS) row[this.#column] = text;
    for (let column = this.#column; column < Math.min(end, SHOWN_COLUMNS); column += 1)
      this.#covered[column] = this.#rows + rows - 1;
    this.#column = end;
    this.#width = Math.max(this.#width, end);
  }

  /** In Markdown; empty if it has no cells. */
  toString(): string {
    if (this.#width === 0) return '';
    const width = Math.min(this.#width, SHOWN_COLUMNS);
    const [head, ...others] = this.#shown.map((row) =>
      Array.from({ length: width }, (_, column) => (row[column] ? code(row[column], 40) : '')),
    );
    const more = moreOf([this.#rows - this.#shown.length, 'row'], [this.#width - width, 'column']);
    return `${table(head!, others)}${more}`;
  }
}
