import type { Suggestion } from 'nest-agent-query';
import type { Answering } from './answer.js';
import type { FileSource } from './file-source.js';
import type { FilesLimits } from './files-limits.js';
import { count, plain } from './markdown.js';
import { archiveFiles } from './sections/archive-entries.js';
import { bestSentences } from './sections/best-sentences.js';
import type { BestSentences } from './sections/best-sentences.js';
import { withPages } from './sections/pages.js';
import { passagesOf } from './sections/passages-of.js';
import { catalogOf } from './tables/catalog.js';
import type { NamedTable } from './tables/catalog.js';
import { isEngineError } from './tables/engine-errors.js';
import { suggestStatements } from './tables/suggest-statements.js';
import type { Statements } from './tables/suggest-statements.js';
import type { Workspace } from './tables/workspace.js';
import { isOfFile } from './reading-stopped.js';
import { hasMeaning, wordsOf } from './words.js';

/** Suggestions of one answer. */
const MOST = 6;
/** Characters of a request that is suggested. */
const LONGEST = 300;
/** Bytes of a file in which words are looked for: to find out how a text is encoded, all of it is read. */
const LARGEST = 32 * 1024 * 1024;
/** Tables that are compared with a question, and bytes of their files. */
const MOST_TABLES = 10;
const MOST_BYTES = 128 * 1024 * 1024;
/** How much a word that a sentence has counts, beside the words that name columns and values. */
const WORD_SCORE = 3;

/**
 * What the words of a question have to do with files. The sentences with these words are the text of the answer; requests that these
 * files can answer are suggested, and those that fit the question best come first.
 *
 * @param text the question; empty if there is none
 * @param files the newest first
 */
export async function* suggestRequests(
  text: string,
  files: FileSource[],
  limits: FilesLimits,
  workspace: Workspace,
): Answering {
  const tables = (await catalogOf(files, limits, workspace)).filter(({ source }) => !source.fault);
  const statements = await bestStatements(tables, text, limits, workspace);
  const texts = files.filter(
    (file) => !tables.some((table) => table.file === file.name) && file.size <= LARGEST,
  );
  const sentences = await bestSentences(text, texts, limits);
  if (sentences) yield sentences.text;
  else if (wordsOf(text).some(hasMeaning) && !isAbout(statements)) yield nothingFound(files);
  const ofTexts = await aboutTexts(files, texts, sentences, tables.length > 0, limits);
  const { about = [], always = [], score = 0 } = statements ?? {};
  const isAboutTexts = (sentences?.words ?? 0) * WORD_SCORE > score;
  const suggestions = isAboutTexts ? [...ofTexts, ...about, ...always] : [...about, ...always, ...ofTexts];
  // A name that a text cannot show as it is would not be sent as it is.
  return {
    suggestions: suggestions.filter((each) => plain(each.text, LONGEST) === each.text).slice(0, MOST),
  };
}

function isAbout(statements: Statements | undefined): boolean {
  return statements !== undefined && (statements.score > 0 || statements.about.length > 0);
}

function nothingFound(files: FileSource[]): string {
  const which = files.length === 1 ? 'this file' : `these ${count(files.length, 'file')}`;
  return `Nothing with the words of the question was found in ${which}.`;
}

/** The statements about the table that a question fits best. Of several, that is the newest one. */
async function bestStatements(
  tables: NamedTable[],
  text: string,
  limits: FilesLimits,
  workspace: Workspace,
): Promise<Statements | undefined> {
  let best: Statements | undefined;
  let bytes = 0;
  for (const table of tables.slice(0, MOST_TABLES)) {
    bytes += table.size;
    if (best && bytes > MOST_BYTES) break;
    const statements = await firstOf([table], (each) => suggestStatements(each, text, limits, workspace));
    if (statements && (!best || statements.score > best.score)) best = statements;
    if (text === '') break;
  }
  return best;
}

/** Requests about texts: the page of the best sentence, and its word. Without a question, the first page and a word. */
async function aboutTexts(
  files: FileSource[],
  texts: FileSource[],
  sentences: BestSentences | undefined,
  hasTables: boolean,
  limits: FilesLimits,
): Promise<Suggestion[]> {
  const chosen = sentences ? [sentences.best.file] : files;
  const part = await firstOf(chosen, async (file) => {
    const { page, entry } = sentences?.best.place ?? {};
    return partOf(file, files.length > 1 ? ` of ${file.name}` : '', page, entry, limits);
  });
  const word =
    sentences?.word ?? (hasTables ? undefined : await firstOf(texts, (file) => aWordOf(file, limits)));
  return [
    ...(part ? [part] : []),
    ...(word !== undefined && !hasTables ? [{ text: 'text', label: 'Read the text' }] : []),
    ...(word !== undefined ? [{ text: `find "${word}"`, label: `Find “${word}”` }] : []),
  ];
}

/** The first result that there is. What cannot be read has none. */
async function firstOf<T, R>(all: T[], look: (each: T) => Promise<R | undefined>): Promise<R | undefined> {
  for (const each of all) {
    try {
      const found = await look(each);
      if (found !== undefined) return found;
    } catch (error) {
      if (!isOfFile(error) && !isEngineError(error)) throw error;
    }
  }
  return undefined;
}

/** A page or an entry of a file. @param of names the file, if there are several */
async function partOf(
  file: FileSource,
  of: string,
  page = 1,
  entry: string | undefined,
  limits: FilesLimits,
): Promise<Suggestion | undefined> {
  const shownOf = plain(of, 40);
  const entries = await archiveFiles(file, limits);
  if (entries) {
    for await (const { name } of entries) {
      const read = entry ?? name;
      return { text: `entry ${read}${of}`, label: `Read ${plain(read, 40)}${shownOf}` };
    }
    return undefined;
  }
  return withPages(file, limits, async (pages) =>
    pages && pages.count > 0
      ? { text: `page ${page}${of}`, label: `Read ${pages.what} ${page}${shownOf}` }
      : undefined,
  );
}

/** The first longer word of a text. */
async function aWordOf(file: FileSource, limits: FilesLimits): Promise<string | undefined> {
  for await (const { text, place } of passagesOf(file, limits)) {
    if (place.aside !== undefined) continue;
    const [word] = /(?<![\p{L}\p{N}])\p{L}{4,20}(?![\p{L}\p{N}])/u.exec(text) ?? [];
    if (word !== undefined) return word;
  }
  return undefined;
}
