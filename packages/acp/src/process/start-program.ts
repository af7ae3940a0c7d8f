import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import type { AcpSettings } from '../acp-options.js';

const SHELL = '/bin/sh';

/**
 * Starts a program in a process group of its own.
 *
 * @throws {Error} with the `code` and the `syscall` of the system's error: says whether the folder or the program is at fault
 */
export async function startProgram(
  { command, args }: Pick<AcpSettings, 'command' | 'args'>,
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<ChildProcessWithoutNullStreams> {
  // `detached` gives it a group of its own.
  const options = { cwd, env, detached: true, stdio: 'pipe' } as const;
  try {
    const child = args ? spawn(command, args, options) : spawn(SHELL, ['-c', command], options);
    await once(child, 'spawn');
    return child;
  } catch (error) {
    throw await explained(error as NodeJS.ErrnoException, args ? command : SHELL, cwd);
  }
}

async function explained(
  error: NodeJS.ErrnoException,
  program: string,
  cwd: string,
): Promise<NodeJS.ErrnoException> {
  const sentence = (await faultOfFolder(cwd)) ?? faultOfProgram(error, program);
  if (sentence === undefined) return error;
  const { code, syscall } = error;
  return Object.assign(new Error(sentence, { cause: error }), { code, syscall });
}

/** The system gives the same error for a folder as for a program that does not exist. */
async function faultOfFolder(cwd: string): Promise<string | undefined> {
  const found = await stat(cwd).catch(() => undefined);
  if (found?.isDirectory()) return undefined;
  const fault = found ? 'is no folder' : 'does not exist';
  return `The folder ${JSON.stringify(cwd)}, in which the agent is to work, ${fault}. Make it, or correct its path.`;
}

function faultOfProgram({ code }: NodeJS.ErrnoException, program: string): string | undefined {
  const name = JSON.stringify(program);
  if (code === 'ENOENT') return `There is no program ${name}. Install it, or correct its name or path.`;
  if (code === 'EACCES')
    return `The program ${name} may not be executed. Correct its path or its permissions.`;
  return undefined;
}
