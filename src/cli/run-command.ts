import { type Command, CommanderError } from 'commander';
import { EXIT } from './exit-codes.js';
import { exitCodeOf, sentencesOf } from './failures.js';
import { neverBlock } from '../never-block.js';
import { printable } from './printable.js';

/**
 * Executes a command line. What is wrong is written to stderr, and becomes the exit code of the process.
 *
 * @param given the arguments, without those of Node
 */
export async function runCommand(command: Command, given: string[]): Promise<void> {
  neverBlock(process.stdout);
  endWithTheReader();
  prepare(command);
  try {
    await command.parseAsync(given, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed what is wrong. Its own code is 1 for every mistake.
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
      return;
    }
    process.stderr.write(`error: ${printable(sentencesOf(error))}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

/** A command that was added to another inherits nothing from it. */
function prepare(command: Command): void {
  command.exitOverride().helpOption('-h, --help', 'show this help');
  command.commands.forEach(prepare);
}

/**
 * A reader that has seen enough (`| head`) ends a command quietly, unless the command does something else then. Any other fault
 * of stdout, such as a full disk, ends it too.
 */
function endWithTheReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      process.stderr.write(`error: Stdout cannot be written (${error.code}).\n`);
      process.exit(EXIT.failed);
    }
    if (process.stdout.listenerCount('error') === 1) process.exit(EXIT.ok);
  });
  process.stderr.on('error', () => undefined);
}
