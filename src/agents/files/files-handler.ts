import { Inject, Injectable, Optional } from '@nestjs/common';
import { AgentHandler, log, message } from '../../query/index.js';
import type { Envelope, FilePart, Query, QueryContext } from '../../query/index.js';
import { FilesLimits } from './files-limits.js';
import { describeText } from './formats/text.js';
import { bytes, code, plain } from './markdown.js';
import { ParserThreads } from './parser-threads.js';
import { UnreadableFile } from './unreadable-file.js';

/**
 * The built-in agent: describes what is in the parts of a query, without network or model.
 *
 * For one part after another it emits a `log` when it starts and a `message` in Markdown when it has finished. For a file
 * that is broken, encrypted or too costly the message says so, and the other parts are described as usual. A file never
 * makes the run fail. Files are read in pieces and parsed in separate threads, within {@link FilesLimits}.
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
export class FilesHandler extends AgentHandler {
  readonly #threads: ParserThreads;

  /** @param limits what one file may cost. Default: the values of {@link FilesLimits} */
  constructor(@Optional() @Inject(FilesLimits) limits: FilesLimits = new FilesLimits()) {
    super();
    this.#threads = new ParserThreads(limits);
  }

  /** Describes the parts in their order. Ends early, without an exception, when the signal is aborted. */
  override async *handle({ parts }: Query, { signal }: QueryContext): AsyncGenerator<Envelope> {
    for (const [index, part] of parts.entries()) {
      if (signal.aborted) return;
      const position = parts.length > 1 ? ` (part ${index + 1} of ${parts.length})` : '';
      if (part.type === 'text') {
        yield log(`Reading text${position}`);
        yield message(`${await describeText(part.text)}\n\n`);
      } else {
        yield log(`Reading ${plain(part.name)}, ${bytes(part.file.size)}${position}`);
        const body = await this.#describe(part, signal);
        if (body !== undefined) yield message(`### ${code(part.name)}\n\n${body}${mismatchOf(part)}\n\n`);
      }
    }
    if (parts.every((part) => part.type === 'text')) {
      yield message('Send files along with the text, and this agent says what is in them.\n');
    }
  }

  /** What is in the file, or why it cannot be described; undefined when the signal is aborted. */
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

function mismatchOf({ mimeType, detectedMimeType }: FilePart): string {
  if (detectedMimeType === undefined) return '';
  return `\n\nThe file was declared as ${code(mimeType)}, but its bytes are ${code(detectedMimeType)}.`;
}
