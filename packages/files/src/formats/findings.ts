import type { FileSource } from '../file-source.js';
import { bytes, code } from '../markdown.js';

/**
 * What the reader of a format finds in a file, piece by piece, in Markdown. The pieces are read one after another; the first
 * begins with a heading. Text from the file is bounded and escaped. A reader that a limit has stopped yields what it knows, and
 * then throws `ReadingStopped`.
 */
export type Findings = AsyncGenerator<string, void, undefined>;

/** What a file is, such as `PNG image`, and its size. */
export function headingOf(title: string, file: FileSource): string {
  return `**${title}**, ${bytes(file.size)}. `;
}

/** The title of a document as a sentence; none if it has no title. */
export function titleFact(title: string): string[] {
  return title ? [`Title: ${code(title, 200)}.`] : [];
}
