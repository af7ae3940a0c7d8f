import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { CLI } from './command-line.js';
import { eventuallyElsewhere } from './conditions.js';

// The program `script` of util-linux makes a terminal for another program.
export const describeWithTerminal =
  process.platform === 'linux' && existsSync('/usr/bin/script') ? describe : describe.skip;

/** `readline` writes a prompt, and moves the cursor behind it. */
// eslint-disable-next-line no-control-regex
const PROMPT = /> \x1b\[\d+G$/;

/** A process of the command `nest-agent-query` on a terminal of its own, with 80 columns. */
export class Terminal {
  /** All that was written to it. */
  screen = '';
  /** Its exit code and signal. */
  readonly ended: Promise<[number]>;
  readonly #process: ChildProcess;

  constructor(parameters: string[], variables: Record<string, string>) {
    const words = [process.execPath, CLI, ...parameters].map((word) => `'${word}'`).join(' ');
    const env = { PATH: process.env['PATH'], TERM: 'xterm-256color', SHELL: '/bin/sh', ...variables };
    // A shell that waited for the command would receive its signals too.
    this.#process = spawn('/usr/bin/script', ['-qefc', `exec ${words}`, '/dev/null'], { env });
    this.ended = once(this.#process, 'close') as Promise<[number]>;
    this.#process.stdout!.setEncoding('utf8').on('data', (text: string) => (this.screen += text));
  }

  type(keys: string): void {
    this.#process.stdin!.write(keys);
  }

  /** Waits until a text is on the screen. */
  async until(text: string): Promise<void> {
    await eventuallyElsewhere(() => this.screen.includes(text) || this.#process.exitCode !== null);
    expect(this.screen).toContain(text);
  }

  /** Waits until a prompt is the last on the screen, and types: keys that come before belong to no prompt. */
  async typeAtPrompt(keys: string): Promise<void> {
    await eventuallyElsewhere(() => PROMPT.test(this.screen) || this.#process.exitCode !== null);
    expect(this.screen).toMatch(PROMPT);
    this.type(keys);
  }

  /** Waits for a text that is written from now on, when some keys were typed. */
  async untilAfter(keys: string, text: string): Promise<void> {
    this.screen = '';
    this.type(keys);
    await this.until(text);
  }

  /** Takes the terminal away, which ends the command. `script` would wait for it after any other signal. */
  async stop(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.ended;
  }
}
