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
  rows: () => AsyncGenerator<TextRow>;
}
