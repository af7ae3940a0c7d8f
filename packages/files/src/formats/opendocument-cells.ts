import { clock, shownNumber } from './sheet-dates.js';
import { errorNote, NOT_COMPUTED } from './sheet-notes.js';
import type { XmlListener } from './xml.js';

/** A cell that has a value. */
export interface RepeatedCell {
  /** From 0. */
  column: number;
  /** Columns in a row that have it. */
  repeats: number;
  value: string;
  /** Why it is no value of a table. */
  flaw: string | undefined;
  /** Whether it can be summed. */
  isNumber: boolean;
  /** Whether its row or column is hidden. */
  isHidden: boolean;
  /** Rows of a merged cell; otherwise 1. */
  rows: number;
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
  sheet(name: string, isHidden: boolean): void;
  row(row: RepeatedRow): void;
  isEnough(): boolean;
}

/** Reads the sheets of an OpenDocument spreadsheet (ODF 1.3 part 3, 9.1). */
export class SheetListener implements XmlListener {
  #row: RepeatedRow = { number: 1, repeats: 0, cells: [] };
  #column = 0;
  #columnRepeats = 1;
  #inHiddenRow = false;
  /** The columns that are hidden, from 0, and how many are known. */
  #hiddenColumns: [first: number, end: number][] = [];
  #columns = 0;
  /** The attributes of the cell that is open. */
  #cell: Record<string, string> = {};
  /** The style that is open, and those of hidden sheets. */
  #style = '';
  readonly #hidden = new Set<string>();
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
      this.#hiddenColumns = [];
      this.#columns = 0;
      const isHidden = this.#hidden.has(attributes['table:style-name'] ?? '');
      this.events.sheet(attributes['table:name'] ?? '', isHidden);
    }
    if (name === 'style') this.#style = attributes['style:name'] ?? '';
    if (name === 'table-properties' && attributes['table:display'] === 'false' && this.#hidden.size < 1000)
      this.#hidden.add(this.#style);
    if (name === 'table-row') {
      const number = this.#row.number + this.#row.repeats;
      this.#row = { number, repeats: repeats(attributes['table:number-rows-repeated']), cells: [] };
      this.#column = 0;
      this.#inHiddenRow = isHidden(attributes);
    }
    if (name === 'table-column') {
      const end = this.#columns + repeats(attributes['table:number-columns-repeated']);
      if (isHidden(attributes)) this.#hiddenColumns.push([this.#columns, end]);
      this.#columns = end;
    }
    if (name === 'table-cell' || name === 'covered-table-cell') {
      this.#columnRepeats = repeats(attributes['table:number-columns-repeated']);
      this.#cell = attributes;
      this.#text = '';
    }
    if (name === 'annotation') this.#annotations += 1;
    if (name === 'p') {
      this.#paragraphs += 1;
      if (this.#annotations === 0 && this.#text !== '') this.#text += '\n';
    }
    if (name === 's' || name === 'tab' || name === 'line-break')
      this.text(
        name === 'line-break' ? '\n' : ' '.repeat(Math.min(this.kept, repeats(attributes['text:c']))),
      );
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
    const type = this.#cell['office:value-type'];
    const formula = this.#cell['table:formula'];
    const stated =
      (hasZeros(this.#text, this.#cell) ? this.#text : statedValue(this.#cell)) ??
      (this.#text || (this.#cell['office:string-value'] ?? ''));
    const isError =
      this.#cell['calcext:value-type'] === 'error' || (formula !== undefined && ERROR.test(stated));
    const isComputed = stated !== '' || formula === undefined || type !== undefined;
    const value = isComputed ? stated : '(formula)';
    if (value !== '') {
      this.#row.cells.push({
        column: this.#column,
        repeats: this.#columnRepeats,
        value,
        flaw: isError ? errorNote(value) : isComputed ? undefined : NOT_COMPUTED,
        isNumber: /^(float|percentage|currency|time)$/.test(type ?? ''),
        isHidden:
          this.#inHiddenRow ||
          this.#hiddenColumns.some(([first, end]) => first <= this.#column && this.#column < end),
        rows: repeats(this.#cell['table:number-rows-spanned']),
      });
    }
    this.#column += this.#columnRepeats;
  }
}

/** What programs show for the error of a formula. */
const ERROR = /^(#(DIV\/0!|N\/A|NAME\?|NULL!|NUM!|REF!|VALUE!)|Err:\d{3})$/;

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

/** Whether the format of a number shows zeros in front of it. */
function hasZeros(text: string, attributes: Record<string, string>): boolean {
  return /^0\d+$/.test(text) && Number(text) === Number(attributes['office:value']);
}

function isHidden(attributes: Record<string, string>): boolean {
  return ['collapse', 'filter'].includes(attributes['table:visibility'] ?? '');
}

/** The value that a cell states; undefined if it is its text. */
function statedValue(attributes: Record<string, string>): string | undefined {
  switch (attributes['office:value-type']) {
    case 'date':
      return attributes['office:date-value']?.replace('T', ' ');
    case 'time':
      return timeOf(attributes['office:time-value'] ?? '');
    case 'boolean':
      return attributes['office:boolean-value']?.toUpperCase();
    case 'string':
      return undefined;
    default: {
      const value = attributes['office:value'];
      return value === undefined ? undefined : shownNumber(value, undefined, false);
    }
  }
}

/** `PT30H05M00S` as `30:05:00`; undefined if it is something else. */
function timeOf(duration: string): string | undefined {
  const match = /^(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(duration);
  if (!match) return undefined;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(2).map((part) => Number(part ?? 0));
  const all = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  return clock(match[1] === '-' ? -all : all);
}
