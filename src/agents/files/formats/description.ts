/** What a format's reader found in a file. */
export interface Description {
  /** What the file is, such as `PNG image`. Plain text, without anything from the file. */
  title: string;
  /** The type that the bytes are, where that is known. */
  mimeType?: string;
  /** The findings in Markdown; whatever comes from the file is bounded and escaped in it. */
  body: string;
}
