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
import { OutputLines } from './output-lines.js';
import { ProcessSlots } from './process-slots.js';
import { Program } from './program.js';
import { failureOfProgram } from './program-failure.js';
import { withContent } from './program-file.js';
import { queryLine } from './query-line.js';
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

  /** Passes on what the program writes. Ends when the program and all processes of its group are gone. */
  override async *handle(query: Query, context: QueryContext): AsyncGenerator<Envelope> {
    const { signal } = context;
    if (!this.#slots.isFree) yield log('Waiting until another query has ended');
    if (!(await this.#slots.take(signal))) return;
    const files = new RunFiles(this.settings.directory);
    let program: Program | undefined;
    try {
      program = await this.#start(query, context, files);
      const lines = new OutputLines(this.settings.lineLength);
      for await (const bytes of program.output()) {
        // A program that stops may still write.
        if (!signal.aborted) for (const envelope of lines.add(bytes)) yield withContent(envelope);
      }
      if (signal.aborted) return;
      for (const envelope of lines.end()) yield withContent(envelope);
      const failure = failureOfProgram(await program.ended());
      if (failure && !signal.aborted) throw failure;
    } finally {
      await program?.stop();
      await files.remove();
      this.#slots.release();
    }
  }

  async #start(query: Query, context: QueryContext, files: RunFiles): Promise<Program> {
    const { runId, signal } = context;
    const paths: string[] = [];
    for (const part of query.parts) if (part.type === 'file') paths.push(await files.copy(part, signal));
    const program = await Program.start(this.settings, queryLine(query, context, paths), (line) =>
      this.#logger.log(`Run ${runId}: ${line}`),
    );
    signal.addEventListener('abort', () => void program.stop());
    if (signal.aborted) void program.stop();
    return program;
  }
}
