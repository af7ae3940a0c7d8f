import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { textForLog } from '../../query/index.js';

/** A longer line is cut. */
const MAX_LENGTH = 1000;

/** So many lines are kept: they say why a program has failed. */
const KEPT_LINES = 20;

/**
 * What a program writes to its standard error, line by line. It never takes more memory than some lines: of a line, 1,000 characters,
 * and the last 20 lines.
 *
 * @example
 * const log = new ProgramLog(child.stderr, (line) => logger.log(line));
 * await log.ended;
 * log.finish(); // the last lines
 */
export class ProgramLog {
  /** Resolves when there is nothing more. */
  readonly ended: Promise<void>;
  readonly #decoder = new StringDecoder('utf8');
  readonly #last: string[] = [];
  #begun = '';

  /** @param write is given each line */
  constructor(
    private readonly stderr: Readable,
    private readonly write: (line: string) => void,
  ) {
    stderr.on('error', () => undefined);
    stderr.on('data', (chunk: Buffer) => this.#add(this.#decoder.write(chunk)));
    this.ended = new Promise((resolve) => stderr.once('close', resolve));
  }

  /** Reads nothing more. */
  close(): void {
    this.stderr.destroy();
  }

  /** The last lines, also one without an end. */
  finish(): string[] {
    if (this.#begun !== '') this.#line(this.#begun);
    this.#begun = '';
    return this.#last;
  }

  #add(text: string): void {
    const lines = text.split('\n');
    lines[0] = this.#begun + lines[0]!;
    const begun = lines.pop()!;
    // One more character shows that the line is cut.
    this.#begun = begun.length > MAX_LENGTH ? begun.slice(0, MAX_LENGTH + 1) : begun;
    lines.forEach((line) => this.#line(line));
  }

  #line(text: string): void {
    const line = text.replace(/\r$/, '');
    const cut = line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
    // Programs write tables with tabs.
    const shown = cut.split('\t').map(textForLog).join('\t');
    this.#last.push(shown);
    if (this.#last.length > KEPT_LINES) this.#last.shift();
    this.write(shown);
  }
}
