import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { clip, code } from '../markdown.js';
import { isOfFile } from '../reading-stopped.js';
import { hasMeaning, likeness, wordsOf } from '../words.js';
import { showPlace } from './passage.js';
import { sentencesOf } from './sentences.js';
import type { Sentence } from './sentences.js';

/** Sentences that are shown, and those that are ranked. */
const SHOWN = 3;
const RANKED = 5_000;
/** Characters of a sentence that are shown. */
const LONGEST = 400;
/** Different words of the texts whose likeness is remembered. */
const REMEMBERED = 200_000;

/** What texts say about a question. */
export interface BestSentences {
  /** In Markdown, with the file and the place of each. */
  text: string;
  /** The best one, and its file. */
  best: Sentence & { file: FileSource };
  /** The rarest word that it has in common with the question, as the text has it. */
  word: string;
  /** How many words of the question it has. */
  words: number;
}

interface Candidate extends Sentence {
  file: FileSource;
  /** The places of the words of the question that it has, and how well they fit. */
  found: Map<number, { likeness: number; word: string }>;
}

/** The sentences of files that have the most and the rarest words of a question; undefined if none has one. */
export async function bestSentences(
  question: string,
  files: FileSource[],
  limits: FilesLimits,
): Promise<BestSentences | undefined> {
  const asked = [...new Set(wordsOf(question).filter(hasMeaning))];
  if (asked.length === 0) return undefined;
  const candidates: Candidate[] = [];
  const finder = new WordFinder(asked);
  const notes = new Set<string>();
  for (const file of files) await collect(file, limits, finder, candidates, notes);
  if (candidates.length === 0) return undefined;
  const times = asked.map((_, at) => candidates.filter(({ found }) => found.has(at)).length);
  const weight = (at: number) => Math.log(1 + candidates.length / times[at]!);
  const score = ({ found }: Candidate) =>
    [...found].reduce((sum, [at, each]) => sum + (weight(at) * each.likeness) / 3, 0);
  const ranked = candidates
    .map((candidate) => ({ candidate, score: score(candidate) }))
    .toSorted((a, b) => b.candidate.found.size - a.candidate.found.size || b.score - a.score);
  const [{ candidate: best }] = ranked as [(typeof ranked)[number]];
  const shown = ranked
    .filter(({ candidate }) => candidate.found.size * 2 >= best.found.size)
    .slice(0, SHOWN)
    .map(({ candidate }, index) => `${index + 1}. ${lineOf(candidate)}`);
  const [rarest] = [...best.found].toSorted(([a], [b]) => weight(b) - weight(a));
  const heading = shown.length === 1 ? 'This sentence has' : 'These sentences have';
  return {
    text: [`${heading} words of the question:`, shown.join('\n'), ...notes].join('\n\n'),
    best,
    word: rarest![1].word,
    words: best.found.size,
  };
}

async function collect(
  file: FileSource,
  limits: FilesLimits,
  finder: WordFinder,
  candidates: Candidate[],
  notes: Set<string>,
): Promise<void> {
  try {
    for await (const sentence of sentencesOf(file, limits, notes)) {
      if (candidates.length >= RANKED) return;
      const found = finder.in(sentence.text);
      if (found.size > 0) candidates.push({ ...sentence, file, found });
    }
  } catch (error) {
    if (!isOfFile(error)) throw error;
  }
}

/** Finds the words of a question in texts. */
class WordFinder {
  readonly #known = new Map<string, { at: number; likeness: number } | undefined>();

  constructor(private readonly asked: string[]) {}

  in(text: string): Candidate['found'] {
    const found: Candidate['found'] = new Map();
    for (const [word] of text.matchAll(/[\p{L}\p{N}]+/gu)) {
      const like = this.#likeOf(word);
      if (like && like.likeness > (found.get(like.at)?.likeness ?? 0))
        found.set(like.at, { likeness: like.likeness, word });
    }
    return found;
  }

  #likeOf(word: string): { at: number; likeness: number } | undefined {
    if (this.#known.has(word)) return this.#known.get(word);
    const [folded = ''] = wordsOf(word.toLowerCase());
    const all = this.asked.map((each, at) => ({ at, likeness: likeness(each, folded) }));
    const best = all.reduce((a, b) => (b.likeness > a.likeness ? b : a));
    const like = best.likeness > 0 && hasMeaning(folded) ? best : undefined;
    if (this.#known.size < REMEMBERED) this.#known.set(word, like);
    return like;
  }
}

function lineOf({ file, place, text }: Candidate): string {
  const where = Object.keys(place).length === 0 ? code(file.name) : `${code(file.name)}, ${showPlace(place)}`;
  return `${where}: ${code(clip(text, LONGEST), LONGEST + 1)}`;
}
