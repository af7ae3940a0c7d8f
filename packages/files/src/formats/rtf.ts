import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { code } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { decoderOf, labelOf } from './code-pages.js';
import type { Decoder } from './code-pages.js';
import { DocumentDigest } from './document-digest.js';
import { headingOf, titleFact } from './findings.js';
import type { Findings } from './findings.js';
import { RtfTokens } from './rtf-tokens.js';
import type { RtfListener } from './rtf-tokens.js';
import type { Aside, TextSink } from './text-sink.js';

/** Groups inside one another that are read. */
const DEEPEST = 1000;
const KEPT = 1000;

/** Groups whose text is not that of the document. */
const HIDDEN = new Set(
  (
    'fonttbl colortbl stylesheet listtable listoverridetable revtbl rsidtbl generator info pict object ftnsep ftnsepc aftnsep xmlnstbl themedata colorschememapping ' +
    'datastore latentstyles fldinst bkmkstart bkmkend listtext atnid atndate atnref atnparent'
  ).split(' '),
);
/** Groups whose text is shown although a program that does not know them leaves them out. */
const SHOWN = new Set(['shppict', 'shptxt', 'fldrslt']);
/** Control words that stand for a character. */
const CHARACTERS = new Map([
  ['tab', '\t'],
  ['line', ' '],
  ['emdash', '—'],
  ['endash', '–'],
  ['lquote', '‘'],
  ['rquote', '’'],
  ['ldblquote', '“'],
  ['rdblquote', '”'],
  ['bullet', '•'],
  ['~', '\u00a0'],
  ['_', '-'],
]);
/** Names of encodings for code pages that are not called `windows-` or `cp` and their number. */
const CODE_PAGES: Record<number, string> = {
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10_000: 'macintosh',
  65_001: 'utf-8',
};

/** Groups whose text is kept apart, by the word that they begin with. */
const TARGETS = new Map<string, Target>([
  ['title', 'title'],
  ['author', 'author'],
  ['atnauthor', 'commenter'],
]);

type Target = 'title' | 'author' | 'commenter';

interface Group {
  /** What its text belongs to; undefined if it is not shown. */
  target: 'text' | Target | undefined;
  /** Characters after a Unicode character that stand for it in old programs. */
  substitutes: number;
  /** What is beside the text, if it is in that. */
  aside: Aside | undefined;
}

/** What is beside the text, by the word that its group begins with: of pages on the left, on the right and the first. */
function asideOf(word: string): Aside | undefined {
  const [, what] = /^(header|footer|footnote|annotation)[lrf]?$/.exec(word) ?? [];
  return what === 'annotation' ? 'comment' : (what as Aside | undefined);
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
  readonly properties: Record<Target, string> = { title: '', author: '', commenter: '' };
  readonly #groups: Group[] = [{ target: 'text', substitutes: 1, aside: undefined }];
  #decoder = decoderOf('windows-1252');
  /** Text in the code page of the file. */
  #bytes = '';
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
    if (this.#groups.length > 1) this.#groups.pop();
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
    if (word === 'ansicpg') this.#decoder = decoderFor(parameter ?? 1252);
    else if (word === 'uc') this.#group.substitutes = Math.min(parameter ?? 1, 10);
    else if (word === 'u' && parameter !== undefined) this.#unicode(parameter);
    else if (CHARACTERS.has(word)) this.#add(CHARACTERS.get(word)!);
    else if (this.#group.target === 'text') this.#structure(word, parameter);
  }

  text(bytes: string): void {
    this.#isFirst = false;
    this.#bytes += bytes.slice(this.#left);
    this.#left = Math.max(0, this.#left - bytes.length);
    if (this.#bytes.length >= 4096) this.#flush();
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
    const known = TARGETS.get(word);
    const aside = asideOf(word);
    if (known) this.#group.target = known;
    else if (aside && !this.#group.aside && this.#group.target === 'text') {
      this.#group.aside = aside;
      this.sink.openAside(aside);
    } else if (HIDDEN.has(word) || (this.#isOptional && !SHOWN.has(word))) this.#group.target = undefined;
  }

  #structure(word: string, parameter: number | undefined): void {
    if (this.#group.aside) {
      if (word === 'par' || word === 'cell') this.#endParagraph();
      return;
    }
    if (word === 'outlinelevel') this.#level = parameter;
    if (word === 'pard') this.#level = undefined;
    if (word === 'pard' || word === 'intbl') this.#isInCell = word === 'intbl';
    if (word === 'trowd') this.#openRow();
    if (word === 'cell') {
      this.#openRow();
      this.#endParagraph();
      this.sink.closeCell?.();
      this.sink.openCell?.();
    }
    if (word === 'row') this.#isInRow = false;
    if (word === 'par' || word === 'sect' || word === 'page') {
      if (!this.#isInRow && !this.#isInCell) this.#endTable();
      this.#endParagraph();
    }
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
    this.#add(String.fromCharCode(value < 0 ? value + 65_536 : value));
    this.#left = this.#group.substitutes;
  }

  #flush(): void {
    if (this.#bytes === '') return;
    this.#add(this.#decoder.decode(Buffer.from(this.#bytes, 'latin1')));
    this.#bytes = '';
  }

  #add(text: string): void {
    const { target } = this.#group;
    if (target === 'text') this.sink.add(text);
    else if (target && this.properties[target].length < KEPT) this.properties[target] += text;
  }
}

function decoderFor(codePage: number): Decoder {
  const label = labelOf(CODE_PAGES[codePage] ?? `windows-${codePage}`) ?? labelOf(`cp${codePage}`);
  return decoderOf(label ?? 'windows-1252');
}
