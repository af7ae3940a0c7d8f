import { setImmediate } from 'node:timers/promises';
import { Inject, Injectable, Optional } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { AgentHandler, log, message, progress } from 'nest-agent-query';
import type { Envelope, FilePart, Query, QueryContext, QueryPart } from 'nest-agent-query';
import { FilesLimits } from './files-limits.js';
import { describeText } from './formats/text.js';
import { knownFiles } from './known-files.js';
import { bytes, code, plain } from './markdown.js';
import type { ParserJob } from './parser-job.js';
import { ParserPool } from './parser-pool.js';
import type { Question } from './parser-protocol.js';
import { parseRequest } from './request.js';
import type { FilesRequest } from './request.js';

/** Files of one query that are parsed, or wait for it, ahead of the one that is answered. */
const AHEAD = 32;
/** Milliseconds after which the answer says that a file waits. */
const WAITING_MS = 1000;

/**
 * The built-in agent: describes what is in the parts of a query, and answers requests about the files, without network or
 * model.
 *
 * If a text of the query is a request, such as `select city, count(*) from orders group by city`, `find "words"` or `page 3`,
 * the answer is only to that. It uses the files of the query and of earlier turns of the session. The module `request.ts` has
 * all requests. Otherwise the files are described, and a text is answered with requests that work for these files.
 *
 * For one part after another it emits a `log` when it is its turn, and what is found as `message`s in Markdown: one for an
 * ordinary file, and several for a file that takes long. For a file that is broken, encrypted or too costly the text says so,
 * after what is known until then, and the other parts are described as usual. A file never makes the run fail. Files are
 * parsed in processes of their own, several at the same time, within {@link FilesLimits}.
 *
 * @example
 * import { FilesHandler } from 'nest-agent-query-files';
 *
 * QueryModule.forRoot({ handler: FilesHandler });
 */
@Injectable()
export class FilesHandler extends AgentHandler implements OnApplicationShutdown {
  readonly #pool: ParserPool;

  /**
   * @param limits what files may cost. Default: the values of {@link FilesLimits}
   * @throws {RangeError} if a limit is out of its range
   */
  constructor(@Optional() @Inject(FilesLimits) limits: FilesLimits = new FilesLimits()) {
    super();
    this.#pool = new ParserPool(limits);
  }

  /** Answers the requests, or describes the parts, in their order. Ends early, without an exception, when the signal is aborted. */
  override async *handle({ parts }: Query, context: QueryContext): AsyncGenerator<Envelope> {
    const { signal } = context;
    const jobs: ParserJob[] = [];
    const cancel = () => jobs.forEach((job) => job.cancel());
    const ask = (question: Question, files: FilePart[]) => {
      const job = this.#pool.ask(question, files, context);
      jobs.push(job);
      return job;
    };
    signal.addEventListener('abort', cancel);
    try {
      const requests = await requestsOf(parts);
      yield* requests.size > 0
        ? answerRequests(parts, requests, context, ask)
        : describeParts(parts, context, ask);
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
    }
  }

  /**
   * The text of a file, or its description if it has no text that can be read: for agents that pass it on, such as to a model.
   * The sentence of a file that is broken or too costly is its text.
   */
  async textOf(part: FilePart, context: Pick<QueryContext, 'owner' | 'runId' | 'signal'>): Promise<string> {
    const text = await this.#whole({ kind: 'text' }, part, context);
    // What is shown of a file stands below its name.
    return text.startsWith('### ') ? text : this.#whole({ kind: 'describe' }, part, context);
  }

  async #whole(
    question: Question,
    part: FilePart,
    context: Pick<QueryContext, 'owner' | 'runId' | 'signal'>,
  ): Promise<string> {
    const job = this.#pool.ask(question, [part], context);
    const cancel = () => job.cancel();
    context.signal.addEventListener('abort', cancel);
    let whole = '';
    try {
      for await (const step of job.steps()) if ('text' in step) whole += step.text;
    } finally {
      context.signal.removeEventListener('abort', cancel);
      job.cancel();
    }
    return whole;
  }

  /** Called by Nest once all runs have ended. Ends the processes, which otherwise end by themselves. */
  onApplicationShutdown(): Promise<void> {
    return this.#pool.close();
  }
}

/** The requests in the texts. Other runs go on between two texts: there may be many. */
async function requestsOf(parts: QueryPart[]): Promise<Map<QueryPart, FilesRequest>> {
  const requests = new Map<QueryPart, FilesRequest>();
  for (const part of parts) {
    const request = part.type === 'text' ? parseRequest(part.text) : undefined;
    if (request) requests.set(part, request);
    await setImmediate();
  }
  return requests;
}

/** Asks the pool. The job is cancelled when the run ends. */
type Ask = (question: Question, files: FilePart[]) => ParserJob;

async function* describeParts(parts: QueryPart[], context: QueryContext, ask: Ask): AsyncGenerator<Envelope> {
  const { signal } = context;
  const files = parts.filter((part) => part.type === 'file');
  const jobs: ParserJob[] = [];
  let answered = 0;
  for (const [index, part] of parts.entries()) {
    if (signal.aborted) return;
    const position = positionOf(index, parts);
    if (part.type === 'text') {
      yield* describeTextPart(part.text, position);
      continue;
    }
    for (const next of files.slice(jobs.length, answered + AHEAD))
      jobs.push(ask({ kind: 'describe' }, [next]));
    yield log(`Reading ${plain(part.name)}, ${bytes(part.file.size)}${position}`);
    yield* answerAbout(part, jobs[answered]!, signal);
    answered += 1;
  }
  if (files.length === parts.length || signal.aborted) return;
  const known = await knownFiles(parts, context);
  if (known.length > 0) yield* messagesOf(ask({ kind: 'suggest' }, known), signal, 'Reading the files');
  else yield message('Send files along with the text, and this agent says what is in them.\n');
}

async function* answerRequests(
  parts: QueryPart[],
  requests: Map<QueryPart, FilesRequest>,
  context: QueryContext,
  ask: Ask,
): AsyncGenerator<Envelope> {
  const { signal } = context;
  const known = await knownFiles(parts, context);
  for (const [index, part] of parts.entries()) {
    if (signal.aborted) return;
    if (part.type === 'file') continue;
    const request = requests.get(part);
    const position = positionOf(index, parts);
    if (!request) {
      yield* describeTextPart(part.text, position);
      continue;
    }
    const label = `Answering ${plain(part.text.trim())}`;
    yield log(`${label}${position}`);
    const job = ask(request, known);
    if (await job.waits(WAITING_MS)) yield log('The request waits until other files have been read');
    yield* messagesOf(job, signal, label);
  }
}

async function* describeTextPart(text: string, position: string): AsyncGenerator<Envelope> {
  yield log(`Reading text${position}`);
  yield message(`${await describeText(text)}\n\n`);
}

async function* answerAbout(part: FilePart, job: ParserJob, signal: AbortSignal): AsyncGenerator<Envelope> {
  if (await job.waits(WAITING_MS)) {
    yield log(`${plain(part.name)} waits until other files have been read`);
  }
  const label = `Reading ${plain(part.name)}`;
  yield* messagesOf(job, signal, label, `### ${code(part.name)}\n\n`, mismatchOf(part));
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

function positionOf(index: number, parts: QueryPart[]): string {
  return parts.length > 1 ? ` (part ${index + 1} of ${parts.length})` : '';
}

function mismatchOf({ mimeType, detectedMimeType }: FilePart): string {
  if (detectedMimeType === undefined) return '';
  return `\n\nThe file was declared as ${code(mimeType)}, but its bytes are ${code(detectedMimeType)}.`;
}
