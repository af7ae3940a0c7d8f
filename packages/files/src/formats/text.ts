import { setImmediate } from 'node:timers/promises';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { count, opening } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { decode, exactEncoding, guessNote } from './encoding.js';
import type { Encoding } from './code-pages.js';
import { languageOf } from './languages.js';

/** Characters counted in one tick of the event loop. */
const SLICE = 64 * 1024;

/** Counts lines, words and characters of a text that arrives in pieces. */
export class TextTally {
  /** Unicode characters; a line break of two characters counts as two. */
  characters = 0;
  /** Sequences of characters other than white space. */
  words = 0;
  #breaks = 0;
  #last = 0;
  #inWord = false;

  /** Lines. The last one counts even if no line break ends it. */
  get lines(): number {
    return this.#breaks + (this.characters > 0 && this.#last !== 10 && this.#last !== 13 ? 1 : 0);
  }

  /** Counts the next piece. */
  add(text: string): void {
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit === 13 || (unit === 10 && this.#last !== 13)) this.#breaks += 1;
      // The second half of a surrogate pair belongs to the character before.
      if (!(unit >= 0xdc00 && unit <= 0xdfff && this.#last >= 0xd800 && this.#last <= 0xdbff)) {
        this.characters += 1;
      }
      const space = isSpace(unit);
      if (!space && !this.#inWord) this.words += 1;
      this.#inWord = !space;
      this.#last = unit;
    }
  }

  /** The figures as text for an answer. */
  toString(): string {
    const [lines, words] = [count(this.lines, 'line'), count(this.words, 'word')];
    return `${lines}, ${words}, ${count(this.characters, 'character')}`;
  }
}

/** Describes a text part: how long it is and how it begins. */
export async function describeText(text: string): Promise<string> {
  if (text.trim() === '') return text === '' ? 'An empty text.' : 'A text of nothing but white space.';
  const tally = new TextTally();
  for (let start = 0; start < text.length; start += SLICE) {
    await setImmediate();
    tally.add(text.slice(start, start + SLICE));
  }
  return `**Text**: ${tally.toString()}.\n\n${opening(text, true)}`;
}

/** Describes a text or code file. @param likely its encoding as its beginning shows it */
export async function* describeTextFile(file: FileSource, likely: Encoding): Findings {
  let encoding = likely;
  const tally = new TextTally();
  let beginning = '';
  let undecodable = 0;
  const stopped = await untilStopped(async () => {
    encoding = await exactEncoding(bytesOf(file), likely);
    for await (const piece of decode(bytesOf(file), encoding, (count) => (undecodable += count))) {
      if (beginning.length < SLICE) beginning += piece.slice(0, SLICE);
      tally.add(piece);
    }
  });
  const language = languageOf(file.name);
  const facts = [`${stopped ? 'At least ' : ''}${tally.toString()}.`, `Encoding: ${encoding.name}.`];
  facts.push(...guessNote(encoding));
  if (undecodable > 0) facts.push(`${count(undecodable, 'character')} could not be decoded.`);
  const heading = headingOf(language ? `${language.name} file` : 'Text file', file);
  const isWhole = beginning.length < SLICE && !stopped;
  yield `${heading}${facts.join(' ')}\n\n${opening(beginning, isWhole, language?.fence)}`;
  if (stopped) throw stopped;
}

function isSpace(unit: number): boolean {
  if (unit <= 32) return true;
  if (unit < 0xa0) return unit === 0x85;
  return (
    unit === 0xa0 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000
  );
}
