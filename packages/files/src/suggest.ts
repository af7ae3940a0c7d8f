import { headOf } from './file-source.js';
import type { FileSource } from './file-source.js';
import type { FilesLimits } from './files-limits.js';
import { code } from './markdown.js';
import { archiveFiles } from './sections/archive-entries.js';
import { withPages } from './sections/pages.js';
import { passagesOf } from './sections/passages-of.js';
import { catalogOf } from './tables/catalog.js';
import type { Workspace } from './tables/workspace.js';
import { ReadingStopped } from './reading-stopped.js';
import { UnreadableFile } from './unreadable-file.js';

/** Two or three requests that these files can answer, in Markdown; empty if there is none. */
export async function suggestRequests(
  files: FileSource[],
  limits: FilesLimits,
  workspace: Workspace,
): Promise<string> {
  const table = (await catalogOf(files, limits, workspace)).find(({ source }) => !source.fault);
  const part = await firstOf(files, (file) => partOf(file, limits));
  const word = await firstOf(files, (file) => aWordOf(file, limits));
  const requests = [
    table && `select * from ${table.name} limit 5`,
    part,
    word && `find "${word}"`,
    !part && (table ? `summarize ${table.name}` : word && 'text'),
  ].filter((request) => typeof request === 'string');
  if (requests.length === 0) return '';
  const which = files.length === 1 ? 'this file' : 'these files';
  const lines = requests.map((request) => `- ${code(request, 200)}`);
  return `These requests work for ${which}, as the text of a query:\n\n${lines.join('\n')}`;
}

/** The first result that there is. A file that cannot be read has none. */
async function firstOf(
  files: FileSource[],
  look: (file: FileSource) => Promise<string | undefined>,
): Promise<string | undefined> {
  for (const file of files) {
    try {
      const found = await look(file);
      if (found !== undefined) return found;
    } catch (error) {
      if (!(error instanceof UnreadableFile || error instanceof ReadingStopped)) throw error;
    }
  }
  return undefined;
}

/** A page or an entry of a file. */
async function partOf(file: FileSource, limits: FilesLimits): Promise<string | undefined> {
  const entries = await archiveFiles(file, limits);
  if (entries) {
    for await (const { name } of entries) return `entry ${name}`;
    return undefined;
  }
  return withPages(file, limits, async (pages) => (pages && pages.count > 0 ? 'page 1' : undefined));
}

/** A longer word of the beginning of a text. */
async function aWordOf(file: FileSource, limits: FilesLimits): Promise<string | undefined> {
  if ((await headOf(file)).length === 0) return undefined;
  for await (const { text } of passagesOf(file, limits)) {
    const [word] = /(?<![\p{L}\p{N}])\p{L}{4,20}(?![\p{L}\p{N}])/u.exec(text) ?? [];
    if (word !== undefined) return word;
  }
  return undefined;
}
