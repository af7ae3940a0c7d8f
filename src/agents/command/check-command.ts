import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { CommandOptions } from './command-options.js';
import { SHELL } from './program.js';
import { textForLog } from '../../query/index.js';

const run = promisify(execFile);

/** A word of a command that the shell takes as it is. */
const PLAIN_WORD = /^[\w./+][\w./+-]*$/;
const ASSIGNMENT = /^\w+=[\w./:+-]*$/;

/**
 * Checks what can be known of a command without executing it: the shell understands its syntax, and its folder and its first program
 * exist. The program is not looked for if only the execution would show its name.
 *
 * @throws {Error} with a sentence that says what is wrong and what to do
 *
 * @example
 * await checkCommand({ command: 'python3 agent.py' });
 */
export async function checkCommand({
  command,
  cwd,
  env,
}: Pick<CommandOptions, 'command' | 'cwd' | 'env'>): Promise<void> {
  const options = { cwd, env };
  await refuseMissingFolder(cwd);
  try {
    await run(SHELL, ['-n', '-c', command], options);
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(`The shell does not understand it: ${textForLog((stderr || message).trim())}`, {
      cause: error,
    });
  }
  const word = firstProgram(command);
  if (word === undefined) return;
  try {
    // A shell has words of its own, such as `if` and `exec`, and knows them here too.
    await run(SHELL, ['-c', 'command -v "$1"', SHELL, word], options);
  } catch (error) {
    throw new Error(`There is no program ${JSON.stringify(word)}. Install it, or correct its name or path.`, {
      cause: error,
    });
  }
}

/** The system gives the same error for a missing folder as for a missing shell. */
async function refuseMissingFolder(cwd: string | undefined): Promise<void> {
  if (cwd === undefined) return;
  const found = await stat(cwd).catch(() => undefined);
  if (found?.isDirectory()) return;
  throw new Error(
    `The folder ${JSON.stringify(cwd)}, in which it is to be executed, does not exist. Make it, or correct its path.`,
  );
}

function firstProgram(command: string): string | undefined {
  const word = command
    .trim()
    .split(/[\s;&|]+/)
    .find((each) => !ASSIGNMENT.test(each));
  return word !== undefined && PLAIN_WORD.test(word) ? word : undefined;
}
