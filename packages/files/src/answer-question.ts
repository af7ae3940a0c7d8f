import type { Answering } from './answer.js';
import { describeFile } from './describe-file.js';
import type { FileSource } from './file-source.js';
import type { FilesLimits } from './files-limits.js';
import type { Findings } from './formats/findings.js';
import { code } from './markdown.js';
import { filesNamed, noSuchFile } from './named-files.js';
import type { Question } from './parser-protocol.js';
import { isOfFile } from './reading-stopped.js';
import { find } from './sections/find.js';
import { showPart } from './sections/show-part.js';
import type { PartRequest } from './sections/show-part.js';
import { suggestRequests } from './suggest.js';
import { queryTables } from './tables/query-tables.js';
import type { Workspace } from './tables/workspace.js';

/**
 * Answers a question about files, in Markdown.
 *
 * @throws {UnreadableFile} if there is no answer because of the files
 */
export async function* answerQuestion(
  question: Question,
  files: FileSource[],
  limits: FilesLimits,
  workspace: Workspace,
): Answering {
  switch (question.kind) {
    case 'describe':
      return yield* describeFile(files[0]!, limits, workspace);
    case 'suggest':
      return yield* suggestRequests(question.text, files, limits, workspace);
    case 'sql': {
      const { text, ...attachments } = await queryTables(question, files, limits, workspace);
      yield text;
      return attachments;
    }
    case 'find':
      return yield* find(question.words, files, limits);
    default:
      return yield* showParts(question, files, limits, workspace);
  }
}

/** The part of each file that has it. */
async function* showParts(
  request: PartRequest,
  files: FileSource[],
  limits: FilesLimits,
  workspace: Workspace,
): Findings {
  const chosen = filesNamed(files, request.of);
  if (chosen.length === 0) return yield noSuchFile(files, request.of);
  let shown = 0;
  for (const file of chosen) {
    const part = await showPart(request, file, limits, workspace).catch(sentenceFor);
    if (part === undefined) continue;
    yield `${shown > 0 ? '\n\n' : ''}### ${code(file.name)}\n\n${part}`;
    shown += 1;
  }
  if (shown === 0)
    yield `${chosen.length === 1 ? 'This file has' : 'These files have'} ${NOTHING[request.kind]}.`;
}

const NOTHING: Record<PartRequest['kind'], string> = {
  pages: 'no pages',
  sheet: 'no sheets',
  entry: 'no entries',
  outline: 'no outline',
  text: 'no text that can be read',
};

function sentenceFor(error: unknown): string {
  if (isOfFile(error)) return error.message;
  throw error;
}
