import { Inject, Injectable, Optional } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { AgentHandler, log, message } from '../../query/index.js';
import type { Envelope, FilePart, Query, QueryContext } from '../../query/index.js';
import { FilesLimits } from './files-limits.js';
import { describeText } from './formats/text.js';
import { bytes, code, plain } from './markdown.js';
import type { ParserJob } from './parser-job.js';
import { ParserPool } from './parser-pool.js';

/** Files of one query that are parsed, or wait for it, ahead of the one that is answered. */
const AHEAD = 32;
/** Milliseconds after which the answer says that a file waits. */
const WAITING_MS = 1000;

/**
 * The built-in agent: describes what is in the parts of a query, without network or model.
 *
 * For one part after another it emits a `log` when it is its turn, and what is found as `message`s in Markdown: one for an
 * ordinary file, and several for a file that takes long. For a file that is broken, encrypted or too costly the text says so,
 * after what is known until then, and the other parts are described as usual. A file never makes the run fail. Files are
 * parsed in processes of their own, several at the same time, within {@link FilesLimits}.
 *
 * The libraries that read the formats are optional peer dependencies of this package. If one is not installed, the message
 * for a file of its format says that the service cannot read it, and the log of the service names the library.
 *
 * @example
 * import { FilesHandler } from 'nest-agent-query/agents/files';
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

  /** Describes the parts in their order. Ends early, without an exception, when the signal is aborted. */
  override async *handle({ parts }: Query, context: QueryContext): AsyncGenerator<Envelope> {
    const { signal } = context;
    const files = parts.filter((part) => part.type === 'file');
    const jobs: ParserJob[] = [];
    let answered = 0;
    const cancel = () => jobs.forEach((job) => job.cancel());
    signal.addEventListener('abort', cancel);
    try {
      for (const [index, part] of parts.entries()) {
        if (signal.aborted) return;
        const position = parts.length > 1 ? ` (part ${index + 1} of ${parts.length})` : '';
        if (part.type === 'text') {
          yield log(`Reading text${position}`);
          yield message(`${await describeText(part.text)}\n\n`);
          continue;
        }
        for (const next of files.slice(jobs.length, answered + AHEAD)) {
          jobs.push(this.#pool.describe(next, context));
        }
        yield log(`Reading ${plain(part.name)}, ${bytes(part.file.size)}${position}`);
        yield* answerAbout(part, jobs[answered]!, signal);
        answered += 1;
      }
      if (files.length === 0) {
        yield message('Send files along with the text, and this agent says what is in them.\n');
      }
    } finally {
      signal.removeEventListener('abort', cancel);
      cancel();
    }
  }

  /** Called by Nest once all runs have ended. Ends the processes, which otherwise end by themselves. */
  onApplicationShutdown(): Promise<void> {
    return this.#pool.close();
  }
}

async function* answerAbout(part: FilePart, job: ParserJob, signal: AbortSignal): AsyncGenerator<Envelope> {
  if (await job.waits(WAITING_MS)) {
    yield log(`${plain(part.name)} waits until other files have been read`);
  }
  let heading = `### ${code(part.name)}\n\n`;
  for await (const { text, isLast } of job.texts()) {
    if (signal.aborted) return;
    yield message(`${heading}${text}${isLast ? `${mismatchOf(part)}\n\n` : ''}`);
    heading = '';
  }
}

function mismatchOf({ mimeType, detectedMimeType }: FilePart): string {
  if (detectedMimeType === undefined) return '';
  return `\n\nThe file was declared as ${code(mimeType)}, but its bytes are ${code(detectedMimeType)}.`;
}
