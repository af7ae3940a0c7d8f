/** What is in a document beside its text. */
export type Aside = 'comment' | 'footnote' | 'endnote' | 'header' | 'footer' | 'notes';

/** What is said of text that its author has hidden. */
export const HIDDEN_TEXT = 'Hidden text is left out.';

/** What takes the text of a document of any format while it is read. */
export interface TextSink {
  /** Adds text to the paragraph. */
  add(text: string): void;
  /**
   * @param level of a heading, from 0; undefined if the paragraph is not a heading
   * @returns the text of the paragraph, shortened; empty if it has none
   */
  endParagraph(level?: number): string;
  /** What follows, until it is closed, is not the text itself. A paragraph that is open goes on after it. */
  openAside(what: Aside): void;
  closeAside(author?: string): void;
  /** @param sentence what is not passed on here, such as `HIDDEN_TEXT` */
  leaveOut?(sentence: string): void;
  openTable?(): void;
  openRow?(): void;
  /** @param columns and rows that the cell covers */
  openCell?(columns?: number, rows?: number): void;
  closeCell?(): void;
  closeTable?(): void;
}
