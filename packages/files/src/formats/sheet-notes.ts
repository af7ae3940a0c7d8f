import { code, count } from '../markdown.js';

/** Different things that are said about one sheet. */
const MOST = 20;

export const NOT_COMPUTED =
  'a formula without a stored value, read as missing: open the file in a spreadsheet program, save it, and send it again';
export const FILLED = 'the value of a merged cell that begins above';
export const NOT_FILLED =
  'a number and is merged with cells below, which stay empty, so that sums count it once';
export const HIDDEN = 'a place in a row or column that is hidden; it is read as any other';
export const LOST = 'a text that the file does not have, read as missing';

export function errorNote(error: string): string {
  return `an error (${code(error, 20)}), read as missing`;
}

/** What a reader of a sheet has to say about its cells. */
export class SheetNotes {
  readonly #cells = new Map<string, number>();

  /** @param what the cells have, as the end of a sentence */
  add(what: string, cells = 1): void {
    const known = this.#cells.get(what) ?? 0;
    if (known > 0 || this.#cells.size < MOST) this.#cells.set(what, known + cells);
  }

  sentences(): string[] {
    return [...this.#cells].map(
      ([what, cells]) => `${count(cells, 'cell')} ${cells === 1 ? 'has' : 'have'} ${what}.`,
    );
  }
}
