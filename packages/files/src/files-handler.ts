import { Inject, Injectable, Optional } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { AgentHandler } from 'nest-agent-query';
import type { Envelope, FilePart, Query, QueryContext, QueryPart } from 'nest-agent-query';
import { answerRequests, describeParts, headingOf, requestsOf } from './answer-query.js';
import { FilesLimits } from './files-limits.js';
import { knownFiles } from './known-files.js';
import { filesNamed, inEncoding, noSuchFile } from './named-files.js';
import type { ParserJob } from './parser-job.js';
import { ParserPool } from './parser-pool.js';
import type { Question } from './parser-protocol.js';
import { ONLY_READING, parseRequest } from './request.js';

/**
 * The built-in agent: describes what is in the parts of a query, and answers requests about the files, without network or
 * model.
 *
 * If a text of the query is a request, such as `select city, count(*) from orders group by city`, `find "words"` or `page 3`,
 * the answer is only to that. It uses the files of the query and of earlier turns of the session. The module `request.ts` has
 * all requests. Otherwise the files are described, and a text is answered with requests that work for these files. Where there is
 * no file, the answer says what this agent can do. Requests are also suggested (`suggestions`).
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
    const close = () => jobs.forEach((job) => job.close());
    const ask = (question: Question, files: FilePart[]) => {
      const job = this.#pool.ask(question, files, context);
      jobs.push(job);
      return job;
    };
    signal.addEventListener('abort', close);
    try {
      const requests = await requestsOf(parts);
      yield* requests.size > 0
        ? answerRequests(parts, requests, context, ask)
        : describeParts(parts, context, ask);
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
  }

  /**
   * The text of a file, or its description if it has no text that can be read: for agents that pass it on, such as to a model.
   * The sentence of a file that is broken or too costly is its text.
   */
  async textOf(part: FilePart, context: Pick<QueryContext, 'owner' | 'runId' | 'signal'>): Promise<string> {
    const text = await this.#whole({ kind: 'text' }, [part], context);
    // What is shown of a file stands below its name.
    return text.startsWith('### ') ? text : this.#whole({ kind: 'describe' }, [part], context);
  }

  /**
   * The answer to a request about the files of a query and of the earlier turns of its session, as text: for agents that offer
   * requests to a model as a tool. {@link FilesHandler.requests} says what may be requested.
   *
   * @param request such as `select count(*) from orders`
   * @returns the answer, or a sentence that says what is wrong with the request
   *
   * @example
   * const rows = await files.answerTo('select count(*) from orders', query.parts, context);
   */
  async answerTo(request: string, parts: QueryPart[], context: QueryContext): Promise<string> {
    const question = parseRequest(request);
    if (!question) return `This is no request. ${this.requests}`;
    if (question.kind === 'writing') return ONLY_READING;
    if (question.kind === 'sql' && question.as !== 'table')
      return 'There are no files here: ask without `as`.';
    const known = await knownFiles(parts, context);
    if (question.kind !== 'describe') return this.#whole(question, known, context);
    const chosen = filesNamed(inEncoding(known, question), question.of);
    const texts = chosen.map(async (part) => {
      return `${headingOf(part)}${await this.#whole({ kind: 'describe' }, [part], context)}`;
    });
    return chosen.length === 0 ? noSuchFile(known, question.of) : (await Promise.all(texts)).join('\n\n');
  }

  /** What may be requested, in sentences for a model. */
  readonly requests =
    'A request is one of: `show tables`; one statement of DuckDB SQL that begins with `select` or `with`; ' +
    '`summarize TABLE`; `find "words"`; `page 3`, `pages 2-4`; `sheet NAME`; `entry PATH`; `outline`; `text`; `describe`. ' +
    'All but statements may end with `of FILENAME`.';

  async #whole(
    question: Question,
    files: FilePart[],
    context: Pick<QueryContext, 'owner' | 'runId' | 'signal'>,
  ): Promise<string> {
    const job = this.#pool.ask(question, files, context);
    const close = () => job.close();
    context.signal.addEventListener('abort', close);
    let whole = '';
    try {
      for await (const step of job.steps()) if ('text' in step) whole += step.text;
    } finally {
      context.signal.removeEventListener('abort', close);
      close();
    }
    return whole;
  }

  /** Called by Nest once all runs have ended. Ends the processes, which otherwise end by themselves. */
  onApplicationShutdown(): Promise<void> {
    return this.#pool.close();
  }
}
