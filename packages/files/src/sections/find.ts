import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import type { Findings } from '../formats/findings.js';
import { code, count, plain } from '../markdown.js';
import { isOfFile } from '../reading-stopped.js';
import { showPlace } from './passage.js';
import type { Place } from './passage.js';
import { MOST, passagesOf } from './passages-of.js';

/** Passages that are shown, and passages that are ranked. */
const SHOWN = 10;
const RANKED = 5000;
/** Characters of a passage that are shown. */
const EXCERPT = 240;

/** Scripts that have no spaces between words. */
const UNSPACED = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
  .map((script) => `\\p{Script=${script}}`)
  .join('');
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Words, and the letters of scripts without spaces. */
const TOKEN = new RegExp(`[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`, 'gu');

interface Candidate {
  id: number;
  file: string;
  place: Place;
  text: string;
}

/**
 * Finds the passages of files that have words, those with the most and the rarest words first. A word also finds words that
 * begin with it, and in scripts without spaces each part of a text. Case does not matter, nor do soft hyphens and how a letter with an
 * accent or a wide one is written.
 */
export async function* find(words: string, files: FileSource[], limits: FilesLimits): Findings {
  const terms = searched(words).match(WORD) ?? [];
  if (terms.length === 0) return yield `There is no word in ${code(words)}.`;
  const { default: MiniSearch } = await import('minisearch');
  const { candidates, notes, isCut } = await candidatesIn(files, terms, limits);
  const index = new MiniSearch<Candidate>({
    fields: ['text'],
    tokenize: (text) => searched(text).match(TOKEN) ?? [],
    searchOptions: { prefix: true },
  });
  index.addAll(candidates);
  const found = index.search(words);
  const shown = found.slice(0, SHOWN).map(({ id }) => candidates[id as number]!);
  const lines = shown.map(
    ({ file, place, text }, at) => `${at + 1}. ${code(file)}, ${showPlace(place)}: ${excerptOf(text, terms)}`,
  );
  const total = `${isCut ? 'At least ' : ''}${count(found.length, 'passage')}`;
  const heading =
    found.length === 0
      ? `${code(words)} was not found in ${count(files.length, 'file')}.`
      : `${total} with ${code(words)}${found.length > SHOWN ? `; the best ${SHOWN}` : ''}:`;
  yield [heading, lines.join('\n'), ...notes].filter((part) => part !== '').join('\n\n');
}

/**
 * Only passages that have a word are kept, and only so many, so that the memory does not depend on the size of the files. Those
 * that have all words come first.
 */
async function candidatesIn(
  files: FileSource[],
  terms: string[],
  limits: FilesLimits,
): Promise<{ candidates: Candidate[]; notes: string[]; isCut: boolean }> {
  const withAll: Omit<Candidate, 'id'>[] = [];
  const withSome: Omit<Candidate, 'id'>[] = [];
  const notes: string[] = [];
  for (const file of files) {
    let length = 0;
    const said = new Set<string>();
    try {
      for await (const { place, text } of passagesOf(file, limits, said)) {
        length += text.length;
        const lower = searched(text);
        const found = terms.filter((term) => lower.includes(term)).length;
        const kept = found === terms.length ? withAll : withSome;
        if (found > 0 && kept.length < RANKED) kept.push({ file: file.name, place, text });
        if (withAll.length >= RANKED) break;
      }
      if (length > MOST) said.add(`only the first ${count(MOST, 'character')} were read.`);
    } catch (error) {
      if (!isOfFile(error)) throw error;
      said.add(error.message);
    }
    for (const note of said) notes.push(`${code(file.name)}: ${note}`);
  }
  const isCut = withAll.length >= RANKED || withSome.length >= RANKED;
  const candidates = [...withAll, ...withSome].slice(0, RANKED).map((each, id) => ({ id, ...each }));
  return { candidates, notes, isCut };
}

/** A text as words are looked for in it: with its accents, which `folded` leaves out. */
function searched(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase()
    .replaceAll('i\u0307', 'i');
}

/** What is around the first word. */
function excerptOf(text: string, terms: string[]): string {
  const line = plain(text, text.length).trim();
  const lower = searched(line);
  const hits = terms.map((term) => lower.indexOf(term)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...hits, line.length) - EXCERPT / 4);
  return code(`${start > 0 ? '…' : ''}${line.slice(start)}`, EXCERPT);
}
