import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const MAIN = resolve(import.meta.dirname, '../../dist/cli/main.js');

/** What a command has written, and its exit code. */
export interface CommandOutput {
  stdout: string;
  stderr: string;
  code: number;
}

/** Executes the command `nest-agent-query`, and waits for its end. */
export async function runCommandLine(
  parameters: string[],
  environment: Record<string, string> = {},
): Promise<CommandOutput> {
  const env = { PATH: process.env['PATH'], ...environment };
  try {
    const output = await promisify(execFile)(process.execPath, [MAIN, ...parameters], { env });
    return { ...output, code: 0 };
  } catch (error) {
    const { stdout, stderr, code } = error as CommandOutput;
    return { stdout, stderr, code };
  }
}
