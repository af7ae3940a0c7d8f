import { Inject, Injectable, Optional } from '@nestjs/common';
import { AgentHandler, log, message } from '../../query/index.js';
import type { Envelope, FilePart, Query, QueryContext } from '../../query/index.js';
import { FilesLimits } from './files-limits.js';
import { describeText } from './formats/text.js';
import { bytes, code, plain } from './markdown.js';
import { ParserThreads } from './parser-threads.js';
import { UnreadableFile } from './unreadable-file.js';

/**
 * The built-in agent: answers a query by saying what is in its parts, without network or model.
 *
 * For each part in turn it emits a `log` when it starts and a `message` in Markdown when it is done. A file that is
 * broken, encrypted or too costly is answered with a sentence that says so, and the others go on. It never throws on
 * account of a file. Files are read in pieces and parsed in threads of their own, within {@link FilesLimits}.
 *
 * The libraries that read the formats are optional peer dependencies of this package. Where one is not installed, files of its
 * format are answered with a sentence, and the log of the service names the library.
 *
 * @example
 * import { FilesHandler } from 'nest-agent-query/agents/files';
 *
 * QueryModule.forRoot({ handler: FilesHandler });
 */
@Injectable()
export class FilesHandler extends AgentHandler {
  readonly #threads: ParserThreads;

  /** @param limits what one file may cost; the defaults of {@link FilesLimits} where none are provided */
  constructor(@Optional() @Inject(FilesLimits) limits: FilesLimits = new FilesLimits()) {
    super();
    this.#threads = new ParserThreads(limits);
  }

  /** Describes the parts in their order; ends early, without an exception, once the signal is raised. */
  override async *handle({ parts }: Query, { signal }: QueryContext): AsyncGenerator<Envelope> {
    for (const [index, part] of parts.entries()) {
      if (signal.aborted) return;
      const place = parts.length > 1 ? ` (part ${index + 1} of ${parts.length})` : '';
      if (part.type === 'text') {
        yield log(`Reading text${place}`);
        yield message(`${await describeText(part.text)}\n\n`);
      } else {
        yield log(`Reading ${plain(part.name)}, ${bytes(part.file.size)}${place}`);
        const body = await this.#describe(part, signal);
        if (body !== undefined) yield message(`### ${code(part.name)}\n\n${body}\n\n`);
      }
    }
    if (parts.every((part) => part.type === 'text')) {
      yield message('Send files along with the text, and this agent says what is in them.\n');
    }
  }

  /** What is in the file, or why that cannot be said; undefined once the signal is raised. */
  async #describe(part: FilePart, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#threads.describe(part, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof UnreadableFile) return error.message;
      throw error;
    }
  }
}
