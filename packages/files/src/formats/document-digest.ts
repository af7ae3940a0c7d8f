import { clip, code, count, opening } from '../markdown.js';
import { TableSketch } from './table-sketch.js';
import { TextTally } from './text.js';
import type { Aside, TextSink } from './text-sink.js';

const SHOWN_HEADINGS = 20;
const SHOWN_TABLES = 3;
const SHOWN_COMMENTS = 5;
/** Characters of a text that are kept. */
const KEPT = 1000;

interface Comment {
  author: string;
  text: string;
}

/** Collects what is said of a document of any format while it is read. Its memory does not grow with the document. */
export class DocumentDigest implements TextSink {
  readonly tally = new TextTally();
  /** Paragraphs that are not empty. */
  paragraphs = 0;
  tables = 0;
  /** How many comments, footnotes and so on it has. */
  readonly #asides = new Map<Aside, number>();
  #aside: { what: Aside; text: string } | undefined;
  readonly #headings: string[] = [];
  #headingCount = 0;
  readonly #sketches: TableSketch[] = [];
  /** How many tables are open: one in another belongs to its cell. */
  #depth = 0;
  readonly #leftOut = new Set<string>();
  #table: TableSketch | undefined;
  #cell: { text: string; columns: number; rows: number } | undefined;
  readonly #comments: Comment[] = [];
  #beginning = '';
  #paragraph = '';

  add(text: string): void {
    if (this.#aside) {
      if (this.#aside.text.length < KEPT) this.#aside.text += text.slice(0, KEPT);
      return;
    }
    this.tally.add(text);
    if (this.#paragraph.length < KEPT) this.#paragraph += text.slice(0, KEPT);
  }

  endParagraph(level?: number): string {
    if (this.#aside) {
      this.add(' ');
      return '';
    }
    this.tally.add('\n');
    const paragraph = this.#paragraph;
    this.#paragraph = '';
    const text = paragraph.trim();
    if (text === '') return '';
    this.paragraphs += 1;
    if (this.#beginning.length < KEPT) this.#beginning += `${paragraph}\n`;
    if (this.#cell && this.#cell.text.length < KEPT) this.#cell.text += ` ${text}`;
    if (level === undefined) return text;
    this.#headingCount += 1;
    if (this.#headingCount <= SHOWN_HEADINGS) {
      this.#headings.push(`${'  '.repeat(Math.min(level, 8))}- ${code(text)}`);
    }
    return text;
  }

  leaveOut(sentence: string): void {
    this.#leftOut.add(sentence);
  }

  openTable(): void {
    if (!this.#aside) this.tables += 1;
    this.#depth += 1;
    if (this.#depth > 1) return;
    this.#table = this.#sketches.length < SHOWN_TABLES ? new TableSketch() : undefined;
    if (this.#table) this.#sketches.push(this.#table);
  }

  openRow(): void {
    if (this.#depth === 1) this.#table?.openRow();
  }

  openCell(columns = 1, rows = 1): void {
    if (this.#depth === 1) this.#cell = { text: '', columns: spanOf(columns), rows: spanOf(rows) };
  }

  closeCell(): void {
    if (this.#depth !== 1 || !this.#cell) return;
    this.#table?.addCell(this.#cell.text.trim(), this.#cell.columns, this.#cell.rows);
    this.#cell = undefined;
  }

  closeTable(): void {
    this.#depth = Math.max(0, this.#depth - 1);
    if (this.#depth === 0) this.#cell = undefined;
  }

  /** A table in it belongs to it, as one in a cell does. */
  openAside(what: Aside): void {
    this.#aside = { what, text: '' };
    this.#depth += 1;
  }

  closeAside(author = ''): void {
    this.#depth -= 1;
    const { what, text } = this.#aside!;
    this.#aside = undefined;
    if (text.trim() === '') return;
    this.#asides.set(what, (this.#asides.get(what) ?? 0) + 1);
    if (what === 'comment' && this.#comments.length < SHOWN_COMMENTS)
      this.#comments.push({ author, text: text.trim() });
  }

  /**
   * The Markdown after the heading.
   *
   * @param facts sentences that come before the figures
   * @param isWhole whether all of the document has been read
   */
  toMarkdown(facts: string[], isWhole: boolean): string {
    const words = count(this.tally.words, 'word');
    const sentences = [
      ...facts,
      `${isWhole ? '' : 'At least '}${words} in ${count(this.paragraphs, 'paragraph')}.`,
    ];
    if (this.tables > 0) sentences.push(`${count(this.tables, 'table')}.`);
    for (const [what, amount] of this.#asides) sentences.push(`${count(amount, what)}.`);
    sentences.push(...this.#leftOut);
    const parts = [sentences.join(' '), this.outline(), ...this.#tables(), this.#commentList()];
    return [...parts, this.beginning(isWhole)].filter((part) => part !== '').join('\n\n');
  }

  /** How the text begins, in Markdown; empty if there is none. */
  beginning(isWhole: boolean): string {
    const beginning = this.#beginning.trim();
    if (beginning === '') return '';
    return `Its text begins:\n\n${opening(beginning, this.#beginning.length < KEPT && isWhole)}`;
  }

  /** Its headings, in Markdown; empty if there are none. */
  outline(): string {
    if (this.#headingCount === 0) return '';
    const left = this.#headingCount - SHOWN_HEADINGS;
    const more = left > 0 ? `\n- (${count(left, 'more heading')})` : '';
    return `Headings:\n\n${this.#headings.join('\n')}${more}`;
  }

  #tables(): string[] {
    return this.#sketches.flatMap((sketch, index) => {
      const shown = sketch.toString();
      return shown === '' ? [] : [`Table ${index + 1} begins:\n\n${shown}`];
    });
  }

  #commentList(): string {
    if (this.#comments.length === 0) return '';
    const lines = this.#comments.map(
      ({ author, text }) => `- ${author ? `${code(author, 40)}: ` : ''}${code(clip(text, 200), 200)}`,
    );
    const left = this.#asides.get('comment')! - SHOWN_COMMENTS;
    if (left > 0) lines.push(`- (${count(left, 'more comment')})`);
    return `Comments:\n\n${lines.join('\n')}`;
  }
}

/** Merged cells cover no more than what HTML allows. What is no such number is 1. */
function spanOf(amount: number): number {
  return amount >= 1 && amount <= 65_534 ? Math.trunc(amount) : 1;
}
