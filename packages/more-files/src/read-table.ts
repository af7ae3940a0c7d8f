/**
 * One table of a file. A cell is a text as the agent reads it from CSV (ISO 8601 dates, `.` in numbers, TRUE/FALSE); null is a
 * missing value.
 */
export interface ReadTable {
  /** Name of the sheet, layer or calendar part; undefined if the file is one table. */
  name: string | undefined;
  /** Names of the columns if the format has them; absent if the first row may be a header, which the agent decides. */
  columns?: string[];
  /** Sentences about what was left out or guessed, known before the rows. */
  notes: string[];
  /** From the beginning at each call. `notes` gets sentences that are known at the end. */
  rows: (notes: string[]) => AsyncIterable<(string | null)[]>;
}

/** What is in a file. */
export interface ReadFile {
  /** E.g. 'Excel workbook of 97 to 2003 (XLS)'. */
  title: string;
  /** Further facts in plain words, e.g. '3 sheets.' */
  facts: string[];
  tables: ReadTable[];
  /** Its lines as a person reads them, where the file is a text that has marks for programs. `notes` gets sentences about them. */
  lines?: (notes: Set<string>) => AsyncIterable<{ number: number; text: string }>;
}
