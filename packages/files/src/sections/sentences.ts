import { headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { looksLikeHtml } from '../formats/html.js';
import { readHtml } from '../formats/html-reader.js';
import type { HtmlSink } from '../formats/html-reader.js';
import { languageOf } from '../formats/languages.js';
import type { Passage, Place } from './passage.js';
import { passagesOf } from './passages-of.js';

/** A sentence of a text, with the place where it begins. */
export interface Sentence {
  place: Place;
  text: string;
}

/** Characters of lines that are joined. */
const LONGEST = 5_000;
/** Characters of a full line, at most: a longer one is a paragraph. */
const FULL_LINE = 200;
/** A line that has less than this part of the longest one ends a paragraph: it is a title, or its last line. */
const SHORT = 0.6;
const ENDED = /[.!?:;]["'”’»)\]]*\s*$/;
/** A full stop after one of these ends no sentence. Of `e.g.` and `z. B.`, it is the single letter. */
const ABBREVIATED =
  /(?<![\p{L}\p{N}])(?:dr|mr|mrs|ms|prof|st|no|nr|vs|etc|ca|approx|bzw|inkl|exkl|evtl|mme|\p{L})\.\s*$/iu;

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * The sentences of a text file, a PDF, slides or a Word document. Lines that belong together are joined: a text has its line breaks
 * where the page ends. Nothing for a file that consists of rows.
 *
 * @throws {UnreadableFile} if it is broken or encrypted
 */
export async function* sentencesOf(file: FileSource, limits: FilesLimits): AsyncGenerator<Sentence> {
  const passages = passagesOf(file, limits);
  const head = new TextDecoder().decode((await headOf(file)).subarray(0, 100)).trimStart();
  // Their texts are between marks that only the description of such a file reads.
  if (head.startsWith('{\\rtf')) return;
  const isPage = languageOf(file.name)?.name === 'HTML' || looksLikeHtml(head);
  yield* sentencesIn(isPage ? paragraphsOfHtml(passages) : passages, file);
}

async function* sentencesIn(passages: AsyncIterable<Passage>, file: FileSource): AsyncGenerator<Sentence> {
  let lines: Passage[] = [];
  let length = 0;
  let longest = 0;
  for await (const line of passages) {
    file.checkTime();
    if (line.place.row !== undefined) continue;
    longest = Math.max(longest, Math.min(line.text.length, FULL_LINE));
    const last = lines.at(-1);
    if (last && (length > LONGEST || !isContinued(last, line, longest))) {
      yield* splitIn(lines);
      lines = [];
      length = 0;
    }
    lines.push(line);
    length += line.text.length;
  }
  yield* splitIn(lines);
}

/** The paragraphs of a page, each with the line in which it begins. */
async function* paragraphsOfHtml(lines: AsyncIterable<Passage>): AsyncGenerator<Passage> {
  const paragraphs: Passage[] = [];
  let line = 0;
  let begun = undefined as { line: number; text: string } | undefined;
  const sink: HtmlSink = {
    ...NO_TABLES,
    add(text) {
      if (begun) begun.text += text;
      else if (text.trim() !== '') begun = { line, text };
    },
    endParagraph() {
      const text = begun?.text.trim();
      if (begun && text) paragraphs.push({ place: { line: begun.line }, text, level: 0 });
      begun = undefined;
      return text ?? '';
    },
  };
  async function* pieces(): AsyncGenerator<string> {
    for await (const { place, text } of lines) {
      line = place.line ?? line + 1;
      yield `${text}\n`;
    }
  }
  await readHtml(pieces(), sink);
  yield* paragraphs;
}

const NO_TABLES = {
  openTable: () => undefined,
  closeTable: () => undefined,
  openRow: () => undefined,
  openCell: () => undefined,
  closeCell: () => undefined,
};

/** Whether a line is in the paragraph of the line before it. */
function isContinued(last: Passage, next: Passage, longest: number): boolean {
  const [before, after] = [last.place, next.place];
  if (before.paragraph !== undefined || next.level !== undefined || last.level !== undefined) return false;
  if (before.entry !== after.entry || before.page !== after.page || before.slide !== after.slide)
    return false;
  if (after.line !== undefined && after.line !== (before.line ?? 0) + 1) return false;
  if (/^\s*\p{Ll}/u.test(next.text)) return true;
  return (
    !ENDED.test(last.text) &&
    last.text.length >= SHORT * longest &&
    !/^\s*(?:[-*•#|>]|\d+[.)]\s)/.test(next.text)
  );
}

function* splitIn(lines: Passage[]): Generator<Sentence> {
  const starts: { at: number; place: Place }[] = [];
  let text = '';
  for (const line of lines) {
    starts.push({ at: text.length, place: line.place });
    text += `${line.text.trim()} `;
  }
  let begun: { at: number; text: string } | undefined;
  for (const { segment, index } of SEGMENTER.segment(text)) {
    begun = begun ? { ...begun, text: begun.text + segment } : { at: index, text: segment };
    if (ABBREVIATED.test(segment) && index + segment.length < text.length) continue;
    const { at, text: sentence } = begun;
    begun = undefined;
    if (sentence.trim() !== '')
      yield { place: starts.findLast((each) => each.at <= at)!.place, text: sentence.trim() };
  }
}
