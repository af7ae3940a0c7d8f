import type { XmlListener } from './xml.js';

/** A cell that has a value. */
export interface RepeatedCell {
  /** From 0. */
  column: number;
  /** Columns in a row that have it. */
  repeats: number;
  value: string;
}

/** A row that has values. */
export interface RepeatedRow {
  /** From 1. */
  number: number;
  /** Rows one after another that are the same. */
  repeats: number;
  cells: RepeatedCell[];
}

/** What is told about sheets while they are read. */
export interface SheetEvents {
  sheet(name: string): void;
  row(row: RepeatedRow): void;
  isEnough(): boolean;
}

/** Reads the sheets of an OpenDocument spreadsheet (ODF 1.3 part 3, 9.1). */
export class SheetListener implements XmlListener {
  #row: RepeatedRow = { number: 1, repeats: 0, cells: [] };
  #column = 0;
  #columnRepeats = 1;
  /** The value that the cell states; undefined if it is its text. */
  #stated: string | undefined;
  #text = '';
  #paragraphs = 0;
  #annotations = 0;

  /** @param kept characters of a cell */
  constructor(
    private readonly events: SheetEvents,
    private readonly kept: number,
  ) {}

  isEnough(): boolean {
    return this.events.isEnough();
  }

  open(name: string, attributes: Record<string, string>): void {
    if (name === 'table') {
      this.#row = { number: 1, repeats: 0, cells: [] };
      this.events.sheet(attributes['table:name'] ?? '');
    }
    if (name === 'table-row') {
      const number = this.#row.number + this.#row.repeats;
      this.#row = { number, repeats: repeats(attributes['table:number-rows-repeated']), cells: [] };
      this.#column = 0;
    }
    if (name === 'table-cell' || name === 'covered-table-cell') {
      this.#columnRepeats = repeats(attributes['table:number-columns-repeated']);
      this.#stated = statedValue(attributes);
      this.#text = '';
    }
    if (name === 'annotation') this.#annotations += 1;
    if (name === 'p') this.#paragraphs += 1;
  }

  text(text: string): void {
    if (this.#paragraphs === 0 || this.#annotations > 0 || this.#text.length >= this.kept) return;
    this.#text += text.slice(0, this.kept);
  }

  close(name: string): void {
    if (name === 'annotation') this.#annotations -= 1;
    if (name === 'p') this.#paragraphs -= 1;
    if (name === 'table-cell' || name === 'covered-table-cell') this.#closeCell();
    if (name === 'table-row' && this.#row.cells.length > 0) this.events.row(this.#row);
  }

  #closeCell(): void {
    const value = this.#stated ?? this.#text;
    if (value !== '') this.#row.cells.push({ column: this.#column, repeats: this.#columnRepeats, value });
    this.#column += this.#columnRepeats;
  }
}

/** How many columns a row has up to its last value. */
export function widthOf({ cells }: RepeatedRow): number {
  const last = cells.at(-1);
  return last ? last.column + last.repeats : 0;
}

/** The first cells of a row; `empty` where there is no value. */
export function cellsOf<T>(row: RepeatedRow, most: number, empty: T): (string | T)[] {
  const cells = new Array<string | T>(Math.min(widthOf(row), most)).fill(empty);
  for (const { column, repeats, value } of row.cells) cells.fill(value, column, column + repeats);
  return cells;
}

function repeats(value: string | undefined): number {
  return value !== undefined && /^[1-9]\d{0,6}$/.test(value) ? Number(value) : 1;
}

function statedValue(attributes: Record<string, string>): string | undefined {
  const type = attributes['office:value-type'];
  if (type === 'date') return attributes['office:date-value'];
  if (type === 'boolean') return attributes['office:boolean-value']?.toUpperCase();
  return type === 'string' || type === 'time' ? undefined : attributes['office:value'];
}
