import { createInterface, type Interface } from 'node:readline';
import type { Outputs } from '../outputs.js';
import { printable } from '../printable.js';

/** A person has left a question without an answer: at Ctrl-D, or because a signal such as Ctrl-C stops the command. */
export class PersonLeft extends Error {
  override readonly name = 'PersonLeft';

  constructor(readonly isInterruption: boolean) {
    super('The person has left.');
  }
}

/** Who is asked for lines. */
export interface Asked {
  /** Shows a text, control characters made visible. */
  say(text: string): Promise<void>;
  /**
   * @param label what is asked for, in a word
   * @param typed what the line has at first, to be edited
   * @throws {PersonLeft}
   */
  line(label: string, typed?: string): Promise<string>;
}

/** Whether there is a person who can be asked. */
export function isPersonThere(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** The person at the terminal. Signals close it. */
export class Person implements Asked {
  readonly #terminal: Interface;
  readonly #lines: AsyncIterator<string>;
  #isInterruption = false;
  readonly #onSignal = () => {
    this.#isInterruption = true;
    this.close();
  };

  constructor(private readonly outputs: Outputs) {
    this.#terminal = createInterface({ input: process.stdin, output: process.stdout, historySize: 0 });
    // Keeps lines that were typed before they are asked for.
    this.#lines = this.#terminal[Symbol.asyncIterator]();
    // The terminal makes no signal of Ctrl-C while lines are edited.
    this.#terminal.once('SIGINT', () => process.emit('SIGINT', 'SIGINT'));
    process.once('SIGINT', this.#onSignal).once('SIGTERM', this.#onSignal);
  }

  say(text: string): Promise<void> {
    return this.outputs.line(printable(text));
  }

  async line(label: string, typed = ''): Promise<string> {
    this.#terminal.setPrompt(`${printable(label)}> `);
    this.#terminal.prompt();
    this.#terminal.write(typed);
    const next = await this.#lines.next();
    if (!next.done) return next.value;
    // Only an end of a line has ended the line of the prompt.
    process.stdout.write('\n');
    throw new PersonLeft(this.#isInterruption);
  }

  close(): void {
    process.off('SIGINT', this.#onSignal).off('SIGTERM', this.#onSignal);
    this.#terminal.close();
  }
}
