import { createInterface } from 'node:readline';
import { UsageError } from './failures.js';
import { Interrupted } from './interruption.js';

/**
 * Asks whether to erase. No answer, as at Ctrl-D, is no.
 *
 * @throws {UsageError} there is nobody to ask
 * @throws {Interrupted} Ctrl-C
 */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError('There is no terminal to ask on. Give --yes to erase without a question.');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const reply = await new Promise<string | Interrupted | undefined>((resolve) => {
    terminal.once('SIGINT', () => resolve(new Interrupted('SIGINT')));
    terminal.once('close', () => resolve(undefined));
    terminal.question(`${question} [y/N] `, resolve);
  });
  terminal.close();
  const isConfirmed = typeof reply === 'string' && /^y(es)?$/i.test(reply.trim());
  // Only a reply ends the line of the question.
  if (typeof reply !== 'string') process.stderr.write('\n');
  if (!isConfirmed) process.stderr.write('Nothing was erased.\n');
  if (reply instanceof Interrupted) throw reply;
  return isConfirmed;
}
