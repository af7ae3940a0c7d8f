import { lexer, type Token, type Tokens } from 'marked';
import { blockText } from './blocks.js';
import type { Look } from './inline.js';

/** A text of fewer characters is read again with each line that comes; a longer one when it has grown by a quarter. */
const SHORT = 4096;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** Blocks to which no further line belongs, also without a blank line after them. */
const ENDED = ['heading', 'hr'];
/** Blocks that a blank line ends. */
const ENDED_BY_BLANK = ['paragraph', 'table', 'blockquote'];

/**
 * Markdown as a terminal shows it, while it arrives. A block is shown when it is whole, for what follows decides what it is; of
 * lists each item, and of code each line.
 */
export class MarkdownText {
  /** What is not shown yet. */
  #rest = '';
  /** The length of what was read last. */
  #read = 0;
  #isBegun = false;
  /** Where a part of the last list or code was shown, its type. What follows belongs to it. */
  #continued: string | undefined;

  /** @param look is asked for each block, because a window can change its width */
  constructor(private readonly look: () => Look) {}

  /** The end of what has come and is not shown yet. */
  get rest(): string {
    return this.#rest;
  }

  /** Takes the next piece. @returns the lines that can be shown now */
  push(piece: string): string {
    this.#rest += piece;
    if (!piece.includes('\n')) return '';
    if (this.#rest.length > SHORT && this.#rest.length < this.#read * 1.25) return '';
    const end = this.#rest.lastIndexOf('\n') + 1;
    const open = this.#rest.slice(end);
    const blocks = blocksOf(this.#rest.slice(0, end));
    const lastAt = blocks.findLastIndex(({ type }) => type !== 'space');
    if (lastAt < 0) return '';
    const shown = this.#shown(blocks.slice(0, lastAt));
    const rest = this.#begin(blocks.slice(lastAt));
    this.#rest = rest.source + open;
    this.#read = this.#rest.length;
    return shown + rest.shown;
  }

  /** Lets another text come between. @returns the lines that are left, except of code that is not ended */
  pause(): string {
    return this.#continued === 'code' ? '' : this.end();
  }

  /** Ends the text. @returns the lines that are left. A new text can follow */
  end(): string {
    const shown = this.#shown(blocksOf(this.#rest));
    this.#rest = '';
    this.#read = 0;
    this.#isBegun = false;
    this.#continued = undefined;
    return shown;
  }

  /** Shows of the last block what cannot change any more. @returns this, and the source of what is left */
  #begin(blocks: Token[]): { shown: string; source: string } {
    const [last, ...blanks] = blocks as [Token, ...Token[]];
    const raw = blocks.map((block) => block.raw).join('');
    const source = raw.endsWith('\n') ? raw : `${raw}\n`;
    if (isEnded(last, blanks.length > 0)) return { shown: this.#shown([last]), source: '' };
    if (last.type === 'list') return this.#beginList(last as Tokens.List, source);
    if (last.type === 'code' && FENCE.test(last.raw)) return this.#beginCode(last as Tokens.Code, source);
    return { shown: '', source };
  }

  /** The last item may go on. */
  #beginList(list: Tokens.List, source: string): { shown: string; source: string } {
    const last = list.items.at(-1)!;
    const at = source.lastIndexOf(last.raw.trimEnd());
    if (list.items.length < 2 || at < 0) return { shown: '', source };
    const shown = this.#shown([{ ...list, items: list.items.slice(0, -1) }]);
    this.#continued = 'list';
    return { shown, source: source.slice(at) };
  }

  /** Blank lines may be the last ones, which are not shown. */
  #beginCode(code: Tokens.Code, source: string): { shown: string; source: string } {
    if (code.text.trim() === '') return { shown: '', source };
    const shown = this.#shown([code]);
    this.#continued = 'code';
    const [blanks] = /(?<=\n)(?:[ \t]*\n)*$/.exec(source)!;
    return { shown, source: source.slice(0, source.indexOf('\n') + 1) + blanks };
  }

  #shown(blocks: Token[]): string {
    let shown = '';
    for (const block of blocks) {
      const isContinued = this.#continued === block.type;
      const text = blockText(block, this.look());
      if (block.type !== 'space') this.#continued = undefined;
      if (text === '') continue;
      shown += `${this.#isBegun && !isContinued ? '\n' : ''}${text}\n`;
      this.#isBegun = true;
    }
    return shown;
  }
}

function isEnded({ type, raw }: Token, isBlankAfter: boolean): boolean {
  if (type !== 'code') return ENDED.includes(type) || (isBlankAfter && ENDED_BY_BLANK.includes(type));
  const fence = FENCE.exec(raw)?.[1];
  return fence !== undefined && new RegExp(`\\n {0,3}${fence}[\`~]*[ \\t]*\\n*$`).test(raw);
}

function blocksOf(source: string): Token[] {
  try {
    return lexer(source);
  } catch {
    // Such as quotations inside of one another, a thousand times.
    return [{ type: 'text', raw: source, text: source }];
  }
}
