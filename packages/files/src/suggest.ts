import type { Suggestion } from 'nest-agent-query';
import { headOf } from './file-source.js';
import type { FileSource } from './file-source.js';
import type { FilesLimits } from './files-limits.js';
import { plain } from './markdown.js';
import { archiveFiles } from './sections/archive-entries.js';
import { withPages } from './sections/pages.js';
import { passagesOf } from './sections/passages-of.js';
import { catalogOf } from './tables/catalog.js';
import { isEngineError } from './tables/engine-errors.js';
import { suggestStatements } from './tables/suggest-statements.js';
import type { Workspace } from './tables/workspace.js';
import { ReadingStopped } from './reading-stopped.js';
import { UnreadableFile } from './unreadable-file.js';

/** Suggestions of one answer. */
const MOST = 6;
/** Characters of a request that is suggested. */
const LONGEST = 200;
/** Bytes of a file in which a word is looked for: to find out how a text is encoded, all of it is read. */
const LARGEST = 8 * 1024 * 1024;
/** Characters of a file in which a word of a question is looked for. */
const SEARCHED = 256 * 1024;

/** Requests that these files can answer. Those that fit a text, by the words that it has in common with a file, come first. */
export async function suggestRequests(
  text: string,
  files: FileSource[],
  limits: FilesLimits,
  workspace: Workspace,
): Promise<Suggestion[]> {
  const words = [...text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)].map(([word]) => word);
  const table = (await catalogOf(files, limits, workspace)).find(({ source }) => !source.fault);
  const part = await firstOf(files, (file) => partOf(file, limits));
  const small = files.filter(({ size }) => size <= LARGEST);
  const word = await firstOf(small, (file) => aWordOf(file, new Set(words), limits));
  const statements =
    table && (await firstOf([table], (each) => suggestStatements(each, words, limits, workspace)));
  const suggestions = [
    ...(statements ?? []),
    part,
    word !== undefined && !table && { text: 'text', label: 'Read the text' },
    word !== undefined &&
      (!table || words.includes(word.toLowerCase())) && { text: `find "${word}"`, label: `Find “${word}”` },
  ].filter((each) => typeof each === 'object');
  // A name that a text cannot show as it is would not be sent as it is.
  return suggestions.filter((each) => plain(each.text, LONGEST) === each.text).slice(0, MOST);
}

/** The first result that there is. What cannot be read has none. */
async function firstOf<T, R>(all: T[], look: (each: T) => Promise<R | undefined>): Promise<R | undefined> {
  for (const each of all) {
    try {
      const found = await look(each);
      if (found !== undefined) return found;
    } catch (error) {
      const isOfFile =
        error instanceof UnreadableFile || error instanceof ReadingStopped || isEngineError(error);
      if (!isOfFile) throw error;
    }
  }
  return undefined;
}

/** A page or an entry of a file. */
async function partOf(file: FileSource, limits: FilesLimits): Promise<Suggestion | undefined> {
  const entries = await archiveFiles(file, limits);
  if (entries) {
    for await (const { name } of entries) return { text: `entry ${name}`, label: `Read ${plain(name, 40)}` };
    return undefined;
  }
  return withPages(file, limits, async (pages) =>
    pages && pages.count > 0 ? { text: 'page 1', label: 'Read page 1' } : undefined,
  );
}

/** A longer word of a text: one of those that are asked for, or else the first one. */
async function aWordOf(
  file: FileSource,
  asked: Set<string>,
  limits: FilesLimits,
): Promise<string | undefined> {
  if ((await headOf(file)).length === 0) return undefined;
  let first: string | undefined;
  let length = 0;
  for await (const { text } of passagesOf(file, limits)) {
    for (const [word] of text.matchAll(/(?<![\p{L}\p{N}])\p{L}{4,20}(?![\p{L}\p{N}])/gu)) {
      if (asked.has(word.toLowerCase())) return word;
      first ??= word;
    }
    length += text.length;
    if (first !== undefined && (asked.size === 0 || length > SEARCHED)) break;
  }
  return first;
}
