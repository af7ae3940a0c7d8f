import type { Turn } from 'nest-agent-query-client';

/** The most characters of a title: Unicode code points. */
const TITLE_LENGTH = 80;

/**
 * The title that a query gives to its session: the beginning of its first text, in one line.
 *
 * @param parts the parts of the query
 * @returns undefined if no part is a text, or all texts are blank
 *
 * @example
 * session.title ??= titleOf(admission.parts);
 */
export function titleOf(parts: Turn['parts']): string | undefined {
  for (const part of parts) {
    const title = part.type === 'text' ? beginningOf(part.text) : '';
    if (title !== '') return title;
  }
  return undefined;
}

/** Stops as soon as it has enough: a text may have many megabytes. */
function beginningOf(text: string): string {
  let line = '';
  // A longer word is divided, but only behind what the title has of it.
  for (const [word] of text.matchAll(/\S{1,80}/gu)) {
    line += line === '' ? word : ` ${word}`;
    // A code point has at most two code units.
    if (line.length >= 2 * TITLE_LENGTH) break;
  }
  return [...line].slice(0, TITLE_LENGTH).join('').trimEnd();
}
