/** What the reader of a format found in a file. */
export interface Description {
  /** What the file is, such as `PNG image`. Plain text that contains nothing from the file. */
  title: string;
  /** The findings in Markdown. Text from the file is bounded and escaped. */
  body: string;
}
