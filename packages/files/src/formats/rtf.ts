import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { code } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { DocumentDigest } from './document-digest.js';
import { headingOf, titleFact } from './findings.js';
import type { Findings } from './findings.js';
import { RtfFonts } from './rtf-fonts.js';
import { asideOf, CHARACTERS, PARAGRAPH_ENDS, targetOf } from './rtf-words.js';
import type { Target } from './rtf-words.js';
import { RtfTokens } from './rtf-tokens.js';
import type { RtfListener } from './rtf-tokens.js';
import { HIDDEN_TEXT } from './text-sink.js';
import type { Aside, TextSink } from './text-sink.js';

/** Groups inside one another that are read. */
const DEEPEST = 1000;
const KEPT = 1000;

interface Group {
  /** What its text belongs to; undefined if it is not shown. */
  target: Target | undefined;
  /** Characters after a Unicode character that stand for it in old programs. */
  substitutes: number;
  /** What is beside the text, if it is in that. */
  aside: Aside | undefined;
  /** The number of its font, if it states one. */
  font: number | undefined;
  /** Whether its text is formatted as hidden, or was deleted and is still in the file. */
  isHidden: boolean;
}

/** Describes a document in Rich Text Format: length, headings, tables and how its text begins. */
export async function* describeRtf(file: FileSource): Findings {
  const digest = new DocumentDigest();
  const reader = new RtfReader(digest);
  const stopped = await untilStopped(() => reader.read(bytesOf(file)));
  reader.end();
  const facts = titleFact(reader.properties.title.trim());
  const author = reader.properties.author.trim();
  if (author) facts.push(`Author: ${code(author, 200)}.`);
  const isWhole = !stopped && reader.depth === 0;
  if (!stopped && !isWhole) facts.unshift('This document is cut off: its end is missing.');
  yield `${headingOf('RTF document', file)}${digest.toMarkdown(facts, isWhole)}`;
  if (stopped) throw stopped;
}

/** Reads the text of a document in Rich Text Format. */
export class RtfReader implements RtfListener {
  readonly properties = { title: '', author: '', commenter: '' };
  readonly #groups: Group[] = [
    { target: 'text', substitutes: 1, aside: undefined, font: undefined, isHidden: false },
  ];
  readonly #fonts = new RtfFonts();
  /** Text in the code page of the file. */
  #bytes = '';
  /** Whether a character may be cut at the end of what was decoded. */
  #isCut = false;
  /** Characters that are left out, because a Unicode character has said what they stand for. */
  #left = 0;
  /** Whether the next control word says what the group is, and whether it may be left out if it is not known. */
  #isFirst = false;
  #isOptional = false;
  #level: number | undefined;
  #isInTable = false;
  #isInRow = false;
  #isInCell = false;

  constructor(private readonly sink: TextSink) {}

  /** Groups that are open. */
  get depth(): number {
    return this.#groups.length - 1;
  }

  async read(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const tokens = new RtfTokens(this);
    for await (const chunk of chunks) tokens.write(chunk);
  }

  open(): void {
    this.#flush();
    if (this.#groups.length > DEEPEST) {
      throw new UnreadableFile(`The groups of this document are nested deeper than ${DEEPEST} levels.`);
    }
    this.#groups.push({ ...this.#group });
    this.#left = 0;
    this.#isFirst = true;
    this.#isOptional = false;
  }

  close(): void {
    this.#flush();
    const { aside } = this.#group;
    if (aside && this.#groups.at(-2)?.aside === undefined) {
      this.#endParagraph();
      this.sink.closeAside(this.properties.commenter.trim());
      if (aside === 'comment') this.properties.commenter = '';
    }
    const isShown = this.#group.target === 'text';
    if (this.#groups.length > 1) this.#groups.pop();
    // It was that of a text box.
    if (isShown && this.#group.target === undefined) this.#endParagraph();
    this.#left = 0;
    this.#isFirst = false;
  }

  control(word: string, parameter: number | undefined): void {
    this.#flush();
    if (word === '*') {
      this.#isOptional = true;
      return;
    }
    if (this.#isFirst) this.#enter(word);
    this.#isFirst = false;
    if (this.#group.target === 'fonts') return this.#fonts.control(word, parameter);
    this.#fonts.document(word, parameter);
    this.#format(word, parameter);
    if (word === 'u' && parameter !== undefined) this.#unicode(parameter);
    else if (CHARACTERS.has(word)) this.#character(CHARACTERS.get(word)!);
    else if (this.#group.target === 'text') this.#structure(word, parameter);
  }

  text(bytes: string): void {
    this.#isFirst = false;
    this.#bytes += bytes.slice(this.#left);
    this.#left = Math.max(0, this.#left - bytes.length);
    if (this.#bytes.length >= 4096) this.#flush(true);
  }

  end(): void {
    this.#flush();
    this.#endParagraph();
    if (this.#group.aside) this.sink.closeAside();
    this.#endTable();
  }

  get #group(): Group {
    return this.#groups.at(-1)!;
  }

  /** A group begins with a word that says what it is. */
  #enter(word: string): void {
    const group = this.#group;
    const aside = asideOf(word);
    if (!aside) {
      const outer = group.target;
      group.target = targetOf(word, this.#isOptional, outer);
      if (outer === undefined && group.target === 'text') this.#endParagraph();
    } else if (!group.aside && group.target === 'text') {
      group.aside = aside;
      this.sink.openAside(aside);
    }
  }

  /** What holds for the text that follows in the group. */
  #format(word: string, parameter: number | undefined): void {
    const group = this.#group;
    if (word === 'uc') group.substitutes = Math.min(parameter ?? 1, 10);
    if (word === 'f') group.font = parameter;
    if (word === 'v' || word === 'deleted') group.isHidden = parameter !== 0;
    if (word === 'plain') {
      group.font = undefined;
      group.isHidden = false;
    }
  }

  #structure(word: string, parameter: number | undefined): void {
    if (this.#group.aside) {
      if (PARAGRAPH_ENDS.has(word)) this.#endParagraph();
      return;
    }
    if (word === 'outlinelevel') this.#level = parameter;
    if (word === 'pard') this.#level = undefined;
    if (word === 'pard' || word === 'intbl') this.#isInCell = word === 'intbl';
    if (word === 'trowd') this.#openRow();
    if (word === 'cell') this.#openRow();
    if (word === 'row') this.#isInRow = false;
    if (!PARAGRAPH_ENDS.has(word)) return;
    if (!this.#isInRow && !this.#isInCell) this.#endTable();
    this.#endParagraph();
    if (word !== 'cell') return;
    this.sink.closeCell?.();
    this.sink.openCell?.();
  }

  /** The properties of a row may be written before and after its cells, or are those of the row before. */
  #openRow(): void {
    if (this.#isInRow) return;
    if (!this.#isInTable) this.sink.openTable?.();
    this.#isInTable = true;
    this.#isInRow = true;
    this.sink.openRow?.();
    this.sink.openCell?.();
  }

  #endTable(): void {
    if (this.#isInTable) this.sink.closeTable?.();
    this.#isInTable = false;
  }

  #endParagraph(): void {
    this.sink.endParagraph(this.#level);
  }

  #unicode(value: number): void {
    // Numbers above 32,767 are written as negative ones.
    const unit = value < 0 ? value + 65_536 : value;
    this.#add(this.#fonts.character(unit, this.#group.font));
    this.#left = this.#group.substitutes;
  }

  /** A control word that stands for a character, or for a Unicode character that is before it. */
  #character(character: string): void {
    if (this.#left === 0) this.#add(character);
    this.#left = Math.max(0, this.#left - 1);
  }

  #flush(isCut = false): void {
    if (this.#bytes === '' && !this.#isCut) return;
    const decoder = this.#fonts.decoder(this.#group.font);
    this.#add(decoder.decode(Buffer.from(this.#bytes, 'latin1'), { stream: isCut }));
    this.#bytes = '';
    this.#isCut = isCut;
  }

  #add(text: string): void {
    const { target, isHidden } = this.#group;
    if (target === 'text') {
      if (isHidden) this.sink.leaveOut?.(HIDDEN_TEXT);
      else this.sink.add(text);
    } else if (target === 'fonts') this.#fonts.name(text);
    else if (target && this.properties[target].length < KEPT) this.properties[target] += text;
  }
}
