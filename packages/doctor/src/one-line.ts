/** Control characters, and characters that turn the direction of text or begin a line. */
// eslint-disable-next-line no-control-regex
const HARMFUL = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A text of a server for people and for JSON: on one line, with at most so many characters. What is harmful to a terminal becomes
 * the replacement character.
 */
export function oneLine(text: string, most: number): string {
  // A long text is cut first, so that no work depends on it.
  const characters = [...text.slice(0, 2 * most)];
  const cut = characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : characters.join('');
  return cut.replace(HARMFUL, '\ufffd');
}
