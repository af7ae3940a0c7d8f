import spinner, { type Spinner } from 'yocto-spinner';
import { cut } from './table.js';

/** How often the line is drawn at most, in milliseconds. */
const PAUSE_MS = 100;
const BAR_WIDTH = 20;

/** One line of a terminal that says what is awaited. Elsewhere there is none. */
export class StatusLine {
  readonly #spinner: Spinner | undefined;
  #text = '';
  #isClosed = false;
  #drawing: NodeJS.Timeout | undefined;
  readonly #onExit = () => this.close();

  constructor(private readonly stream: NodeJS.WriteStream) {
    const canMove = stream.isTTY && process.env['TERM'] !== 'dumb' && !('CI' in process.env);
    // Signals are for the run that is awaited.
    if (!canMove) return;
    this.#spinner = spinner({ stream, handleSignals: false });
    // A second Ctrl-C ends the process at once, and the line hides the cursor.
    process.once('exit', this.#onExit);
  }

  get exists(): boolean {
    return this.#spinner !== undefined;
  }

  show(text: string): void {
    if (!this.#spinner || this.#isClosed) return;
    this.#text = cut(text, (this.stream.columns || 80) - 3);
    if (!this.#spinner.isSpinning) this.#spinner.start(this.#text);
    else this.#drawing ??= setTimeout(() => this.#draw(), PAUSE_MS);
  }

  hide(): void {
    clearTimeout(this.#drawing);
    this.#drawing = undefined;
    this.#spinner?.stop();
  }

  /** Hides the line for good. */
  close(): void {
    this.#isClosed = true;
    process.off('exit', this.#onExit);
    this.hide();
  }

  #draw(): void {
    this.#drawing = undefined;
    this.#spinner!.text = this.#text;
  }
}

/** How far something has come, such as `██████████░░░░░░░░░░ 50%`; empty if its total is not known. */
export function barOf(done: number, total: number | undefined): string {
  if (!total) return '';
  const share = Math.min(1, done / total);
  const full = Math.round(share * BAR_WIDTH);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${Math.floor(share * 100)}%`;
}

/** Bytes for people, such as `1.5 MiB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const power = Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(1)} ${['', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}
