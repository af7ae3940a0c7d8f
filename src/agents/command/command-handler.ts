import type { Logger } from '@nestjs/common';
import {
  AgentHandler,
  type Envelope,
  log,
  loggerOf,
  type Query,
  type QueryContext,
} from '../../query/index.js';
import { type CommandOptions, type CommandSettings, commandSettings } from './command-options.js';
import { Conversation } from './conversation.js';
import { ask, type Pause, pauseOf } from './pause.js';
import { ProcessSlots } from './process-slots.js';
import { Program } from './program.js';
import { withContent } from './program-file.js';
import { answersLine, queryLine } from './query-line.js';
import { RunFiles } from './run-files.js';

/**
 * Makes a handler that executes a program for each query, in any language.
 *
 * The program reads the query from its standard input, one line of JSON. Each line of its standard output is an envelope, or a
 * part of the answer's text. Its standard error goes to the log. It needs a system with process groups and `/bin/sh`.
 *
 * @throws {RangeError} if a number is out of its range · {TypeError} if the command is empty
 *
 * @example
 * QueryModule.forRoot({ handler: commandHandler({ command: 'python3 agent.py' }) });
 */
export function commandHandler(options: CommandOptions): AgentHandler {
  return new CommandHandler(commandSettings(options));
}

class CommandHandler extends AgentHandler {
  readonly #logger: Logger;
  readonly #slots: ProcessSlots;

  constructor(private readonly settings: CommandSettings) {
    super();
    this.#logger = loggerOf('Command', settings.name);
    this.#slots = new ProcessSlots(settings.processes);
  }

  /**
   * Passes on what the program writes. Starts it again when what it has asked is answered. Ends when the program and all processes
   * of its group are gone.
   */
  override async *handle(query: Query, context: QueryContext): AsyncGenerator<Envelope> {
    const { signal } = context;
    const { directory, lineLength } = this.settings;
    let pause = pauseOf(context);
    do {
      const answers = pause && (await ask(context, pause, true));
      if (!this.#slots.isFree) yield log('Waiting until another query has ended');
      if (!(await this.#slots.take(signal))) return;
      const files = new RunFiles(directory);
      let program: Program | undefined;
      try {
        const input = await inputOf(query, context, files, pause);
        program = await this.#start(context, answers ? input + answersLine(answers) : input);
        const conversation = new Conversation(program, context, this.settings, pause);
        reading: for await (const envelopes of program.envelopes(lineLength)) {
          for (const envelope of envelopes) {
            // A program that stops may still write.
            if (signal.aborted) break;
            if (!conversation.isFor(envelope)) yield withContent(envelope);
            else if (!(await conversation.take(envelope))) break reading;
          }
        }
        pause = await conversation.end();
      } finally {
        await program?.stop();
        await files.remove();
        this.#slots.release();
      }
    } while (pause);
  }

  async #start({ runId, signal }: QueryContext, input: string): Promise<Program> {
    const program = await Program.start(this.settings, input, (line) =>
      this.#logger.log(`Run ${runId}: ${line}`),
    );
    signal.addEventListener('abort', () => void program.stop(), { once: true });
    if (signal.aborted) void program.stop();
    return program;
  }
}

/** The line of the query, whose files are copied for the program. */
async function inputOf(
  query: Query,
  context: QueryContext,
  files: RunFiles,
  before: Pause | undefined,
): Promise<string> {
  const paths: string[] = [];
  for (const part of query.parts)
    if (part.type === 'file') paths.push(await files.copy(part, context.signal));
  return queryLine(query, context, paths, before);
}
