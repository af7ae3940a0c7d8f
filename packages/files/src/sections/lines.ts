import type { Passages, Place } from './passage.js';

/** Characters of a line that are kept together. */
const LONGEST = 10_000;
/** Characters before it are marks and controls. */
const FIRST_LETTER = 0xa0;

/** A line of XML with its characters in place of their numbers, such as `&#233;`. Marks such as `&lt;` stay. */
export function withoutReferences(line: string): string {
  return line.replace(
    /&#(?:x([0-9a-f]{1,6})|(\d{1,7}));/gi,
    (whole, hex: string | undefined, decimal: string) => {
      const number = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return number >= FIRST_LETTER && number <= 0x10ffff ? String.fromCodePoint(number) : whole;
    },
  );
}

/** A line of JSON with its characters in place of their escapes, such as `\u00e9`. Others stay. */
export function withoutEscapes(line: string): string {
  return line.replace(/(?<!\\)((?:\\\\)*)\\u([0-9a-f]{4})/gi, (whole, before: string, hex: string) => {
    const number = Number.parseInt(hex, 16);
    return number >= FIRST_LETTER ? before + String.fromCharCode(number) : whole;
  });
}

/** Passes pieces on line by line, and counts the lines. */
export async function* byLine(pieces: AsyncIterable<string>, place: Place): AsyncGenerator<string> {
  for await (const piece of pieces) {
    for (const line of piece.split(/(?<=\n)/)) {
      yield line;
      if (line.endsWith('\n')) place.line! += 1;
    }
  }
}

/**
 * The lines of a text.
 *
 * @param isMarkdown whether `#` marks headings
 * @param shown what a person reads of a line
 */
export async function* passagesOfLines(
  pieces: AsyncIterable<string> | string[],
  isMarkdown: boolean,
  shown: (line: string) => string = (line) => line,
): Passages {
  let line = 0;
  for await (const text of linesOf(pieces)) {
    line += 1;
    const hashes = isMarkdown ? /^(#{1,6})\s/.exec(text)?.[1] : undefined;
    yield { place: { line }, text: shown(text), ...(hashes && { level: hashes.length - 1 }) };
  }
}

async function* linesOf(pieces: AsyncIterable<string> | string[]): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    yield* lines;
    // A text without line breaks is cut.
    if (rest.length > LONGEST) {
      yield rest;
      rest = '';
    }
  }
  if (rest !== '') yield rest;
}
