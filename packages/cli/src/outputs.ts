import { once } from 'node:events';
import { printable, printableLine } from './printable.js';
import { StatusLine } from './status-line.js';

/** How a terminal shows a text that arrives in pieces. What it returns are whole lines. */
export interface Format {
  /** The end of the text, which is not shown yet. */
  readonly rest: string;
  push(piece: string): string;
  /** Something else is written before the next piece. */
  pause(): string;
  end(): string;
}

/** The most characters of a text that is not shown yet, in the line that says what is awaited. */
const REST_LENGTH = 200;

/**
 * The two outputs of a command: the answer on stdout, exactly as it is unless a terminal shows it, and notes on stderr. Where
 * both are the same terminal, neither continues a line of the other.
 */
export class Outputs {
  readonly #status: StatusLine;
  /** Whether the last line of stdout is not ended. */
  #isTextOpen = false;
  /** Whether the last line of stderr is not ended. */
  #isNoteOpen = false;
  /** What is written with the next text: the first half of a character; on a terminal also that of a line end. */
  #half = '';

  /** @param format how a terminal shows the answer; by default as it is */
  constructor(
    private readonly stdout: NodeJS.WriteStream = process.stdout,
    private readonly stderr: NodeJS.WriteStream = process.stderr,
    private readonly format?: Format,
  ) {
    this.#status = new StatusLine(stderr);
  }

  /** Whether a person reads the notes. */
  get isOnTerminal(): boolean {
    return this.stderr.isTTY;
  }

  /** Writes a piece of the answer. Waits while the reader of stdout does not read. */
  async text(piece: string): Promise<void> {
    const text = this.#half + piece;
    const half = this.stdout.isTTY ? /[\ud800-\udbff\r]$/ : /[\ud800-\udbff]$/;
    this.#half = half.exec(text)?.[0] ?? '';
    const whole = this.#half === '' ? text : text.slice(0, -1);
    const shown = this.stdout.isTTY ? printable(whole) : whole;
    await this.#write(this.format ? this.format.push(shown) : shown);
    if (this.format?.rest.trim()) this.showStatus(endOf(this.format.rest, this.stderr.columns || 80));
  }

  async #write(text: string): Promise<void> {
    if (text === '') return;
    this.#endNote();
    this.#isTextOpen = !text.endsWith('\n');
    await write(this.stdout, text);
  }

  /** Writes a line to stdout that is no part of the answer. */
  async line(line: string): Promise<void> {
    await this.endLine();
    await this.#write(`${line}\n`);
  }

  /** Ends the answer, and its last line. */
  async endLine(): Promise<void> {
    await this.endText();
    if (this.#isTextOpen) await this.#write('\n');
  }

  /** Writes what is left of the answer: nothing of it follows. */
  async endText(): Promise<void> {
    const half = this.stdout.isTTY ? printable(this.#half) : this.#half;
    this.#half = '';
    await this.#write(this.format ? this.format.push(half) + this.format.end() : half);
  }

  /** Writes a line about the answer to stderr. */
  note(line: string): void {
    this.#endNote();
    this.piece(line);
    this.#endNote();
  }

  /** Writes a piece of such a line. */
  piece(text: string): void {
    if (text === '') return;
    this.#status.hide();
    this.#endTextOnSameTerminal();
    const rest = this.#isNoteOpen ? '' : this.format?.pause();
    if (rest) this.stdout.write(rest);
    this.#isNoteOpen = !text.endsWith('\n');
    this.stderr.write(this.#dimmed(printable(text)));
  }

  /** Says on a terminal what is awaited, until something else is written. @returns whether there is such a terminal */
  showStatus(text: string): boolean {
    if (!this.#status.exists) return false;
    // The status would take the place of a line that is not ended.
    if (this.#isNoteOpen) this.#endNote();
    this.#endTextOnSameTerminal();
    this.#status.show(text);
    return true;
  }

  /** Ends the last lines, so that a terminal shows what follows on a line of its own. */
  end(): void {
    // It is all that is left, so nobody waits.
    void this.endText();
    this.#endNote();
    this.#status.close();
    if (this.#isTextOpen && this.stdout.isTTY) this.stdout.write('\n');
    this.#isTextOpen = false;
  }

  #endTextOnSameTerminal(): void {
    if (!this.#isTextOpen || !this.stdout.isTTY || !this.stderr.isTTY) return;
    this.stderr.write('\n');
    this.#isTextOpen = false;
  }

  #endNote(): void {
    this.#status.hide();
    if (this.#isNoteOpen) this.stderr.write('\n');
    this.#isNoteOpen = false;
  }

  /** Node knows NO_COLOR and what the terminal can show. */
  #dimmed(text: string): string {
    return this.stderr.isTTY && this.stderr.hasColors() ? `\x1b[2m${text}\x1b[22m` : text;
  }
}

/** The end of a text as one line of a terminal. */
function endOf(text: string, columns: number): string {
  const characters = [...printableLine(text.slice(-REST_LENGTH))];
  const room = columns - 5;
  return characters.length <= room ? characters.join('') : `…${characters.slice(-room).join('')}`;
}

/** Writes a text, and waits while its reader does not read. A reader that has gone is not waited for. */
export async function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (stream.write(text) || stream.destroyed) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  const events = [once(stream, 'drain', { signal }), once(stream, 'close', { signal })];
  await Promise.race(events).catch(() => undefined);
  waiting.abort();
  await Promise.allSettled(events);
}
