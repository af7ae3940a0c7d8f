import type {
  FilePart,
  Query,
  QueryContext,
  QueryPart,
  ResolvedInput,
  TextPart,
  Turn,
} from '../../query/index.js';
import type { Pause } from './pause.js';

/** A part of a query, as a program reads it. */
type ProgramPart = TextPart | (Omit<FilePart, 'file'> & { size: number; path: string });

/** A query, as a program reads it. Members are only ever added. */
interface ProgramQuery {
  runId: string;
  owner: string;
  parts: ProgramPart[];
  kwargs: object;
  session: { id: string; turns: Turn[]; olderTurns: number } | null;
  resumed: { attempt: number; state: unknown } | null;
}

/**
 * The query of a run as one line of JSON.
 *
 * @param paths where the program reads the file parts, in their order
 * @param pause what an earlier start of the program has asked
 */
export function queryLine(
  query: Query,
  context: QueryContext,
  paths: string[],
  pause: Pause | undefined,
): string {
  const rest = paths.values();
  const parts = query.parts.map((part) => programPart(part, rest));
  const { runId, owner, session, history } = context;
  const resumed = pause ? { attempt: pause.starts + 1, state: pause.state } : context.resumed;
  const line: ProgramQuery = {
    runId,
    owner,
    parts,
    kwargs: query.kwargs,
    session: session ? { id: session.id, turns: history, olderTurns: session.olderTurns } : null,
    resumed: resumed ?? null,
  };
  return `${JSON.stringify(line)}\n`;
}

/** The answers to what a program has asked, as one line of JSON. */
export function answersLine(answers: ResolvedInput[]): string {
  return `${JSON.stringify({ type: 'input_resolved', data: { answers } })}\n`;
}

function programPart(part: QueryPart, paths: Iterator<string>): ProgramPart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { name, mimeType, detectedMimeType, sha256, file } = part;
  return {
    type: 'file',
    name,
    mimeType,
    ...(detectedMimeType !== undefined && { detectedMimeType }),
    size: file.size,
    sha256,
    path: paths.next().value as string,
  };
}
