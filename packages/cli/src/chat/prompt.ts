import { createInterface, type Interface } from 'node:readline';
import { complete } from './complete.js';

/** Terminals put marks around what is pasted in this mode, so a pasted line end does not send. */
const MARK_PASTES = '\x1b[?2004h';
const DO_NOT_MARK = '\x1b[?2004l';
const CONTINUED = '… ';

/** Reads texts from the terminal, one at a time. Between them, the terminal is as other programs have it: Ctrl-C is a signal. */
export class Prompt {
  /** Texts that were typed together with the one before. */
  readonly #texts: string[] = [];
  /** What was typed after these. */
  #typed = '';
  #terminal: Interface | undefined;

  /** @param history the lines that up and down show, the newest first */
  constructor(
    private readonly output: NodeJS.WriteStream,
    private history: string[],
  ) {}

  /**
   * Reads a text. It has several lines if they are pasted, or end with a backslash.
   *
   * @returns undefined at Ctrl-D, and at Ctrl-C where nothing is typed
   */
  async next(label: string): Promise<string | undefined> {
    const text = this.#texts.shift();
    if (text !== undefined) {
      this.output.write(`${label}${text}\n`);
      return text;
    }
    const canMark = process.env['TERM'] !== 'dumb';
    if (canMark) this.output.write(MARK_PASTES);
    try {
      const typed = await new Promise<string | undefined>((resolve) => this.#read(label, resolve));
      // Only an end of a line has ended the line of the prompt.
      if (typed === undefined) this.output.write('\n');
      return typed;
    } finally {
      this.close();
      if (canMark) this.output.write(DO_NOT_MARK);
    }
  }

  /** Stops reading. */
  close(): void {
    this.#terminal?.close();
  }

  #read(label: string, resolve: (text: string | undefined) => void): void {
    let lines: string[] = [];
    let isPasting = false;
    const { output, history } = this;
    const terminal = createInterface({
      input: process.stdin,
      output,
      history,
      prompt: label,
      // A tab in what is pasted is a tab.
      completer: (line: string) => (isPasting ? [['\t'], ''] : complete(line)),
    });
    this.#terminal = terminal;
    const onKey = (_: unknown, { name }: { name?: string }) => {
      if (name === 'paste-start' || name === 'paste-end') isPasting = name === 'paste-start';
    };
    process.stdin.on('keypress', onKey);
    terminal.on('line', (line) => {
      const isContinued = isPasting || line.endsWith('\\');
      lines.push(isPasting ? line : line.replace(/\\$/, ''));
      if (isContinued) {
        terminal.setPrompt(CONTINUED);
        return terminal.prompt();
      }
      const text = lines.join('\n');
      lines = [];
      // Other lines may have come with this one.
      if (this.#texts.push(text) === 1) setImmediate(() => resolve(this.#texts.shift()));
    });
    terminal.on('SIGINT', () => {
      if (terminal.line === '' && lines.length === 0) return terminal.close();
      lines = [];
      isPasting = false;
      output.write('^C\n');
      terminal.setPrompt(label);
      // Node has no other way to empty the line.
      terminal.write(null, { ctrl: true, name: 'e' });
      terminal.write(null, { ctrl: true, name: 'u' });
      terminal.prompt();
    });
    terminal.on('history', (all: string[]) => (this.history = all));
    terminal.once('close', () => {
      process.stdin.off('keypress', onKey);
      this.#typed = terminal.line;
      resolve(undefined);
    });
    terminal.prompt();
    terminal.write(this.#typed);
    this.#typed = '';
  }
}
