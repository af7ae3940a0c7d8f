/** Control characters except tab and line feed, and characters that turn the direction of text. */
// eslint-disable-next-line no-control-regex
const HARMFUL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** The same for JSON, which writes control characters below U+0020 itself; and what else may begin a line. */
const HARMFUL_IN_JSON = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * A text for a terminal. What agents write could otherwise move the cursor, rename the window or hide what it says; so control
 * characters become visible ones.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(HARMFUL, shown);
}

/** A text for one line of a terminal, with at most so many characters. */
export function printableLine(text: string, most = Infinity): string {
  const characters = [...printable(text).replace(/\s+/g, ' ').trim()];
  return characters.length <= most ? characters.join('') : `${characters.slice(0, most - 1).join('')}…`;
}

/** JSON that a terminal can show: JSON leaves the control characters from U+007F on as they are. */
export function printableJson(value: unknown): string {
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(HARMFUL_IN_JSON, escape);
}

/** A word of a shell, in quotes where it needs them. */
export function shellWord(word: string): string {
  return /^[\w.:@-]+$/.test(word) ? word : `'${printable(word).replaceAll("'", `'\\''`)}'`;
}

/** The picture of a control character (U+2400 and the following), or the replacement character. */
function shown(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}
