import { once } from 'node:events';
import { printable } from './printable.js';
import { StatusLine } from './status-line.js';

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

  constructor(
    private readonly stdout: NodeJS.WriteStream = process.stdout,
    private readonly stderr: NodeJS.WriteStream = process.stderr,
  ) {
    this.#status = new StatusLine(stderr);
  }

  /** Writes a piece of the answer. Waits while the reader of stdout does not read. */
  async text(piece: string): Promise<void> {
    const text = this.#half + piece;
    const half = this.stdout.isTTY ? /[\ud800-\udbff\r]$/ : /[\ud800-\udbff]$/;
    this.#half = half.exec(text)?.[0] ?? '';
    const whole = this.#half === '' ? text : text.slice(0, -1);
    if (whole === '') return;
    this.#endNote();
    this.#isTextOpen = !whole.endsWith('\n');
    await write(this.stdout, this.stdout.isTTY ? printable(whole) : whole);
  }

  /** Writes a line to stdout that is no part of the answer. */
  async line(line: string): Promise<void> {
    await this.text(`${this.#isTextOpen ? '\n' : ''}${line}\n`);
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
    this.#endNote();
    this.#status.close();
    if (this.#half !== '') this.stdout.write(this.stdout.isTTY ? printable(this.#half) : this.#half);
    if (this.#isTextOpen && this.stdout.isTTY) this.stdout.write('\n');
    this.#half = '';
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
