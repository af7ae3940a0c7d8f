import type { SheetNotes } from './sheet-notes.js';

/** A row of a sheet as texts. */
export interface TextRow {
  /** From 1. */
  number: number;
  /** Null if a cell has no value. */
  cells: (string | null)[];
}

/** A sheet of a workbook, which can be read row by row, any number of times. */
export interface TextSheet {
  name: string;
  /** Why it cannot be read, as a part of a sentence; absent if it can. */
  fault?: string;
  /** @param notes if given, the rows are those of a table: errors are missing values */
  rows: (notes?: SheetNotes) => AsyncGenerator<TextRow>;
}
