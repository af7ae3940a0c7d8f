import { type Command, CommanderError } from 'commander';
import { EXIT } from './exit-codes.js';
import { exitCodeOf, sentencesOf } from './failures.js';
import { Interrupted } from './interruption.js';
import { printable } from './printable.js';

/**
 * Executes a command line. What is wrong is written to stderr, and becomes the exit code of the process. Never rejects.
 *
 * @param command the program, such as `commandLine` makes
 * @param given the arguments, without those of Node
 *
 * @example
 * await runCommand(program, process.argv.slice(2));
 */
export async function runCommand(command: Command, given: string[]): Promise<void> {
  endWithTheReader();
  prepare(command);
  try {
    await command.parseAsync(given, { from: 'user' });
  } catch (error) {
    if (error instanceof Interrupted) return endProcess(error.exitCode);
    if (error instanceof CommanderError) {
      // Commander has printed what is wrong. Its own code is 1 for every mistake.
      process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
      return;
    }
    process.stderr.write(`error: ${printable(sentencesOf(error))}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

/** Ends the process, although the command may still wait for something, such as the writer of a FIFO. */
async function endProcess(exitCode: number): Promise<void> {
  const outputs = [process.stdout, process.stderr];
  await Promise.all(outputs.map((output) => new Promise((resolve) => output.write('', resolve))));
  process.exit(exitCode);
}

/** A command that was added to another inherits nothing from it. */
function prepare(command: Command): void {
  command.exitOverride().helpOption('-h, --help', 'show this help');
  if (command.commands.length > 0)
    command.configureOutput({ outputError: (text, write) => write(text + adviceOn(text, command)) });
  command.commands.forEach(prepare);
}

/** Commander names the nearest command itself, if one is near. */
function adviceOn(error: string, command: Command): string {
  if (!error.startsWith('error: unknown command')) return '';
  const words = [command.name()];
  for (let above = command.parent; above; above = above.parent) words.unshift(above.name());
  return `To see all commands: ${words.join(' ')} --help\n`;
}

/**
 * A reader that has seen enough (`| head`) ends a command quietly. Any other fault of stdout, such as a full disk, ends it too,
 * and is said. A command that listens for such a fault ends by itself.
 */
function endWithTheReader(): void {
  process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return;
    process.stderr.write(`error: Stdout cannot be written (${code}).\n`);
    process.exitCode = EXIT.failed;
  });
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (process.stdout.listenerCount('error') === 1) process.exit(code === 'EPIPE' ? EXIT.ok : EXIT.failed);
  });
  process.stderr.on('error', () => undefined);
}
