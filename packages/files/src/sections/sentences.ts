import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
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
 * The sentences of a text, a document or slides. Lines that belong together are joined: a text has its line breaks
 * where the page ends. Nothing for a file that consists of rows.
 *
 * @param notes gets sentences about how it is read
 * @throws {UnreadableFile} if it is broken or encrypted
 */
export async function* sentencesOf(
  file: FileSource,
  limits: FilesLimits,
  notes: Set<string>,
): AsyncGenerator<Sentence> {
  let lines: Passage[] = [];
  let length = 0;
  let longest = 0;
  for await (const line of passagesOf(file, limits, notes)) {
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

/** Whether a line is in the paragraph of the line before it. */
function isContinued(last: Passage, next: Passage, longest: number): boolean {
  const [before, after] = [last.place, next.place];
  if (next.isParagraph || last.isParagraph || next.level !== undefined || last.level !== undefined)
    return false;
  if (before.entry !== after.entry || before.page !== after.page || before.slide !== after.slide)
    return false;
  if (before.aside !== after.aside) return false;
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
