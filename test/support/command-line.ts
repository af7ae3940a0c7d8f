import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
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

/** Executes the command `nest-agent-query` in a process of its own. @param stdin what is piped into it */
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

/** The process of `commands.mjs`, which executes the commands of a suite that need no process of their own. */
let commands: ChildProcess | undefined;
let count = 0;

afterAll(async () => {
  if (!commands) return;
  commands.disconnect();
  await once(commands, 'exit');
});

/** As `command`, but in a process that all commands of a suite share, one after another. */
export function quickCommand(
  parameters: string[],
  environment: Record<string, string> = {},
  stdin = '',
  main = CLI,
): Promise<Outcome> {
  commands ??= fork(join(import.meta.dirname, 'commands.mjs'), { env: {}, execArgv: [] }).setMaxListeners(0);
  const child = commands;
  const number = ++count;
  const ended = new Promise<Outcome>((resolve, reject) => {
    const answered = (answer: Outcome & { number: number }) => {
      if (answer.number !== number) return;
      child.off('message', answered).off('exit', reject);
      resolve({ stdout: answer.stdout, stderr: answer.stderr, code: answer.code });
    };
    child.on('message', answered).once('exit', reject);
  });
  const variables = { PATH: process.env['PATH'], ...environment };
  child.send({ number, main, parameters, variables, stdin: Buffer.from(stdin).toString('base64') });
  return ended;
}
