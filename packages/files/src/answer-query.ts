import { setImmediate } from 'node:timers/promises';
import { file, log, message, progress, suggestions } from 'nest-agent-query';
import type { Envelope, FilePart, QueryContext, QueryPart, Suggestion } from 'nest-agent-query';
import { describeText } from './formats/text.js';
import { INTRODUCTION, isToldOfModel, noLanguage } from './introduction.js';
import { knownFiles } from './known-files.js';
import { bytes, code, plain } from './markdown.js';
import { filesNamed, inEncoding, noSuchFile } from './named-files.js';
import type { ParserJob } from './parser-job.js';
import type { Question } from './parser-protocol.js';
import { ONLY_READING, parseRequest } from './request.js';
import type { FilesRequest } from './request.js';

/** Files of one query that are parsed, or wait for it, ahead of the one that is answered. */
const AHEAD = 32;
/** Milliseconds after which the answer says that a file waits. */
const WAITING_MS = 1000;
/** Characters of a text that a person has written. A longer one was made elsewhere, and is described like a file. */
const LONGEST_QUESTION = 1000;

/** Asks the pool. The job is closed when the run ends. */
type Ask = (question: Question, files: FilePart[]) => ParserJob;

/** The requests in the texts. Other runs go on between two texts: there may be many. */
export async function requestsOf(parts: QueryPart[]): Promise<Map<QueryPart, FilesRequest>> {
  const requests = new Map<QueryPart, FilesRequest>();
  for (const part of parts) {
    const request = part.type === 'text' ? parseRequest(part.text) : undefined;
    if (request) requests.set(part, request);
    await setImmediate();
  }
  return requests;
}

/** The answer to a query without requests. */
export async function* describeParts(
  parts: QueryPart[],
  context: QueryContext,
  ask: Ask,
): AsyncGenerator<Envelope> {
  const { signal } = context;
  const files = parts.filter((part) => part.type === 'file');
  const questions = parts.filter(isQuestion);
  const unread = yield* describeFiles(parts, signal, ask);
  if (signal.aborted) return;
  const known = (await knownFiles(parts, context)).filter((part) => !unread.has(part));
  if (known.length === 0) {
    if (questions.length > 0 || parts.every(isBlank)) yield* INTRODUCTION;
    return;
  }
  const text = questions.map((part) => part.text).join(' ');
  // A query that brings files asks about these.
  const about = known.filter((part) => files.includes(part));
  const job = ask({ kind: 'suggest', text }, about.length > 0 ? about : known);
  const items = yield* suggestionsOf(job, signal);
  if (signal.aborted) return;
  if (questions.length > 0) yield message(noLanguage(items, !isToldOfModel(context.history)));
  if (items.length > 0) yield suggestions(items);
}

/** The answers to requests, in the order of the texts. */
export async function* answerRequests(
  parts: QueryPart[],
  requests: Map<QueryPart, FilesRequest>,
  context: QueryContext,
  ask: Ask,
): AsyncGenerator<Envelope> {
  const { signal } = context;
  let own = parts.filter((part) => part.type === 'file');
  let known = await knownFiles(parts, context);
  let items: Suggestion[] = [];
  for (const [index, part] of parts.entries()) {
    if (signal.aborted) return;
    const request = requests.get(part);
    if (part.type === 'file' || !request) continue;
    if (request.kind === 'writing') {
      yield message(`${ONLY_READING}\n\n`);
      continue;
    }
    if (request.kind === 'describe') {
      own = inEncoding(own, request);
      known = inEncoding(known, request);
      items = yield* answerDescribe(request.of, meantBy(request, own, known), signal, ask);
      continue;
    }
    const label = `Answering ${plain(part.text.trim())}`;
    yield log(`${label}${positionOf(index, parts)}`);
    const job = ask(request, meantBy(request, own, known));
    if (await job.waits(WAITING_MS)) yield log('The request waits until other files have been read');
    yield* messagesOf(job, signal, label);
    yield* filesOf(job);
    items = job.complete?.suggestions ?? items;
  }
  if (items.length > 0) yield suggestions(items);
}

/** A query that brings files asks about these, unless it names a file. A statement may join all tables. */
function meantBy(request: FilesRequest, own: FilePart[], known: FilePart[]): FilePart[] {
  const isAboutAll = request.kind === 'sql' || ('of' in request && request.of !== undefined);
  return isAboutAll || own.length === 0 ? known : own;
}

async function* answerDescribe(
  of: string | undefined,
  known: FilePart[],
  signal: AbortSignal,
  ask: Ask,
): AsyncGenerator<Envelope, Suggestion[]> {
  const chosen = filesNamed(known, of);
  if (chosen.length === 0) {
    yield message(`${noSuchFile(known, of)}\n\n`);
    return [];
  }
  const unread = yield* describeFiles(chosen, signal, ask);
  const read = chosen.filter((part) => !unread.has(part));
  if (read.length === 0 || signal.aborted) return [];
  return yield* suggestionsOf(ask({ kind: 'suggest', text: '' }, read), signal);
}

/** Describes files, and texts that are long. @returns the files that could not be read to their end */
async function* describeFiles(
  parts: QueryPart[],
  signal: AbortSignal,
  ask: Ask,
): AsyncGenerator<Envelope, Set<QueryPart>> {
  const files = parts.filter((part) => part.type === 'file');
  const jobs: ParserJob[] = [];
  const unread = new Set<QueryPart>();
  let answered = 0;
  for (const [index, part] of parts.entries()) {
    if (signal.aborted) break;
    const position = positionOf(index, parts);
    if (part.type === 'text') {
      if (part.text.length > LONGEST_QUESTION && !isBlank(part)) yield* describeLongText(part.text, position);
      continue;
    }
    for (const next of files.slice(jobs.length, answered + AHEAD))
      jobs.push(ask({ kind: 'describe' }, [next]));
    const job = jobs[answered]!;
    yield log(`Reading ${plain(part.name)}, ${bytes(part.file.size)}${position}`);
    if (await job.waits(WAITING_MS)) yield log(`${plain(part.name)} waits until other files have been read`);
    yield* messagesOf(job, signal, `Reading ${plain(part.name)}`, headingOf(part), mismatchOf(part));
    if (!job.complete) unread.add(part);
    answered += 1;
  }
  return unread;
}

async function* describeLongText(text: string, position: string): AsyncGenerator<Envelope> {
  yield log(`Reading text${position}`);
  yield message(`${await describeText(text)}\n\n`);
}

async function* suggestionsOf(job: ParserJob, signal: AbortSignal): AsyncGenerator<Envelope, Suggestion[]> {
  yield* messagesOf(job, signal, 'Reading the files');
  return job.complete?.suggestions ?? [];
}

/** The answer of a job, between a heading and an ending, and its progress. An empty answer has no message. */
async function* messagesOf(
  job: ParserJob,
  signal: AbortSignal,
  label: string,
  heading = '',
  ending = '',
): AsyncGenerator<Envelope> {
  let before = heading;
  for await (const step of job.steps()) {
    if (signal.aborted) return;
    if ('read' in step) {
      yield progress(step.read, { total: job.size, unit: 'bytes', label });
      continue;
    }
    const { text, isLast } = step;
    if (isLast && before === '' && text === '' && !job.hasText) return;
    yield message(`${before}${text}${isLast ? `${ending}\n\n` : ''}`);
    before = '';
  }
}

async function* filesOf({ complete }: ParserJob): AsyncGenerator<Envelope> {
  if (!complete?.file) return;
  const { name, mimeType, content } = complete.file;
  const stream = content.createReadStream();
  try {
    yield file({ name, mimeType, content: stream });
  } finally {
    stream.destroy();
  }
}

/** The name of a file, above what is said about it. */
export function headingOf({ name }: FilePart): string {
  return `### ${code(name)}\n\n`;
}

function isBlank(part: QueryPart): boolean {
  return part.type === 'text' && part.text.trim() === '';
}

function isQuestion(part: QueryPart): part is QueryPart & { type: 'text' } {
  return part.type === 'text' && part.text.length <= LONGEST_QUESTION && !isBlank(part);
}

function positionOf(index: number, parts: QueryPart[]): string {
  return parts.length > 1 ? ` (part ${index + 1} of ${parts.length})` : '';
}

function mismatchOf({ mimeType, detectedMimeType }: FilePart): string {
  if (detectedMimeType === undefined) return '';
  return `\n\nThe file was declared as ${code(mimeType)}, but its bytes are ${code(detectedMimeType)}.`;
}
