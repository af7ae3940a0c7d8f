import type { SheetNotes } from './sheet-notes.js';

/** A row of a sheet as texts. */
export interface TextRow {
  /** From 1. */
  number: number;
  /** Null if a cell has no value. */
  cells: (string | null)[];
  /** Its cells that are merged with those of rows below. */
  merged?: MergedCell[];
}

export interface MergedCell {
  /** From 0. */
  column: number;
  lastRow: number;
  /** Whether it can be summed. */
  isNumber: boolean;
}

/** A sheet of a workbook, which can be read row by row, any number of times. */
export interface TextSheet {
  name: string;
  isHidden: boolean;
  /** Areas that are tables of their own; none if all of it is one table. */
  tables: SheetArea[];
  /** Why it cannot be read, as a part of a sentence; absent if it can. */
  fault?: string;
  /** @param notes if given, the rows are those of a table: errors are missing values */
  rows: (notes?: SheetNotes) => AsyncGenerator<TextRow>;
}

/** A table in a sheet. All numbers are from 1, and the last one is part of it. */
export interface SheetArea {
  name: string;
  /** Such as `D5:E9`. */
  reference: string;
  rows: [first: number, last: number];
  columns: [first: number, last: number];
  /** The rows without those of names and totals. */
  data: [first: number, last: number];
  hasTotals: boolean;
  /** Of its columns. */
  names: string[];
}
