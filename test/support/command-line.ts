import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { eventuallyElsewhere } from './conditions.js';

export const CLI = resolve(import.meta.dirname, '../../dist/cli/main.js');

/** What a command has written, and its exit code. */
export interface Outcome {
  stdout: string;
  stderr: string;
  code: number | null;
}

const running = new Set<CommandProcess>();

// A test that fails, or that starts a service, leaves commands behind.
afterEach(async () => {
  for (const command of running) {
    command.child.kill('SIGKILL');
    await command.end();
  }
});

/** A process of the command `nest-agent-query`. It ends with the test that started it. */
export class CommandProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly #exited: Promise<unknown>;

  /** @param environment its variables besides PATH @param main the file of the command */
  constructor(parameters: string[], environment: Record<string, string> = {}, main = CLI) {
    const env = { PATH: process.env['PATH'], ...environment };
    this.child = spawn(process.execPath, [main, ...parameters], { env });
    running.add(this);
    this.#exited = once(this.child, 'close').finally(() => running.delete(this));
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    // A command that does not read its stdin closes it.
    this.child.stdin!.on('error', () => undefined);
  }

  /** Waits until the command has written a text, to stdout or stderr. */
  async until(text: string): Promise<void> {
    const holds = () => (this.stdout + this.stderr).includes(text);
    await eventuallyElsewhere(() => holds() || this.child.exitCode !== null);
    if (!holds()) throw new Error(`exit ${this.child.exitCode}\n${this.stdout}\n${this.stderr}`);
  }

  /** Waits for the end. */
  async end(): Promise<Outcome> {
    await this.#exited;
    return { stdout: this.stdout, stderr: this.stderr, code: this.child.exitCode };
  }
}

/** Executes the command `nest-agent-query`. @param stdin what is piped into it */
export function command(
  parameters: string[],
  environment: Record<string, string> = {},
  stdin: string | Uint8Array = '',
  main = CLI,
): Promise<Outcome> {
  const process = new CommandProcess(parameters, environment, main);
  process.child.stdin!.end(stdin);
  return process.end();
}
