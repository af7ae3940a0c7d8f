/** All text of a caller's file gets into the Markdown through these functions, which bound it and make it harmless. */

/** The most characters and lines of an opening. */
const OPENING_LENGTH = 600;
const OPENING_LINES = 15;

// Control characters, line and paragraph separators, and the marks that change the direction of text: each can make a
// line look different from what it is.
const UNSAFE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const UNSAFE_BUT_LINES = /(?![\n\t])[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Cuts a text after `length` UTF-16 code units, never within a character, and adds an ellipsis. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length);
  return `${cut.replace(/[\ud800-\udbff]$/, '')}…`;
}

/** One harmless line of at most `length` characters: control characters and line breaks become spaces. */
export function plain(text: string, length = 80): string {
  const line = text.slice(0, length * 4).replace(UNSAFE, ' ');
  return clip(line.replace(LONE_SURROGATE, '\ufffd'), length);
}

/**
 * A code span, which shows a hostile text as it is: no character has a special meaning inside.
 *
 * @param length characters shown, default 80
 */
export function code(text: string, length = 80): string {
  const line = plain(text, length);
  if (line.trim() === '') return '(empty)';
  const fence = '`'.repeat(longestRun(line) + 1);
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}

/**
 * A fenced block.
 *
 * @param text is shown whole: limit its length before
 * @param language the highlighter's name of it, default `text`
 */
export function block(text: string, language = 'text'): string {
  const shown = text.replace(/\r\n?/g, '\n').replace(UNSAFE_BUT_LINES, ' ').replace(LONE_SURROGATE, '\ufffd');
  const fence = '`'.repeat(Math.max(3, longestRun(shown) + 1));
  return `${fence}${language}\n${shown.replace(/(?<!\n)\n+$/, '')}\n${fence}`;
}

/** The first lines of a text in a fenced block, with a note if there are more. */
export function opening(text: string, complete: boolean, language = 'text'): string {
  const lines = text.slice(0, OPENING_LENGTH * 2).split(/\r\n|\r|\n/);
  const first = lines.slice(0, OPENING_LINES).join('\n');
  const shown = clip(first, OPENING_LENGTH);
  const cut =
    !complete || shown !== first || lines.length > OPENING_LINES || text.length > OPENING_LENGTH * 2;
  return `${block(shown, language)}${cut ? '\n\n(The beginning only.)' : ''}`;
}

/** A table. The cells are Markdown; a pipe in a cell is escaped. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** `1 row`, `1,204 rows`. */
export function count(amount: number, noun: string, plural = `${noun}s`): string {
  return `${amount.toLocaleString('en-US')} ${amount === 1 ? noun : plural}`;
}

/** `(3 more rows, 1 more column.)` as a paragraph: what is not shown of a list or a table; empty if all of it is. */
export function moreOf(...left: [amount: number, noun: string][]): string {
  const amounts = left
    .filter(([amount]) => amount > 0)
    .map(([amount, noun]) => count(amount, `more ${noun}`));
  return amounts.length > 0 ? `\n\n(${amounts.join(', ')}.)` : '';
}

/** A numbered list in Markdown. @param left how many more there are */
export function numbered(items: string[], left: number, noun: string): string {
  const lines = items.map((item, index) => `${index + 1}. ${item}`);
  return `${lines.join('\n')}${moreOf([left, noun])}`;
}

/** `512 bytes`, `12.3 kB`, `1.02 GB`: powers of 1000. */
export function bytes(amount: number): string {
  const units = ['kB', 'MB', 'GB', 'TB'];
  if (amount < 1000) return count(amount, 'byte');
  let value = amount / 1000;
  let unit = 0;
  // 999.5 would be written as 1,000 of the smaller unit.
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toLocaleString('en-US', { maximumSignificantDigits: 3 })} ${units[unit]}`;
}

/** ` (compressed 3.1 to 1)`; empty if the packed bytes are not fewer. */
export function compressionOf(unpacked: number, packed: number): string {
  const ratio = (unpacked / packed).toLocaleString('en-US', { maximumSignificantDigits: 3 });
  return packed > 0 && unpacked > packed && ratio !== '1' ? ` (compressed ${ratio} to 1)` : '';
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}
