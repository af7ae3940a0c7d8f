import type { LongText, Piece } from '../platform/write-json.js';
import type { Awaitable } from '../ports/file-store.js';
import type { LogSlice } from '../ports/run-store.js';

/** How many characters all texts of one answer hold at most. */
const HELD_LENGTH = 256 * 1024;

/** A piece is a part of the slice that it was read from, and keeps all of it in memory until it is joined with others. */
const JOINED_PIECES = 16;

/** Reads the log of a run after an envelope. */
export type ReadLog = (after: number) => Awaitable<LogSlice>;

/** The content of an envelope that is a piece of a text, as JSON with its quotes; undefined if it is none. */
export type ContentOf = (line: string) => string | undefined;

/**
 * The texts of one answer. Short ones are held. Of a long text it is known only which envelopes have it: these are read again while it
 * is written.
 *
 * @example
 * const texts = new LogTexts({ log: (await stream.admitted).read });
 * const text = texts.begin(contentOf);
 * text.add('"Hello"', 1);
 * return { text: new JsonPieces(['"', text.json, '"']) };
 */
export class LogTexts {
  /** How many characters they hold. */
  held = 0;
  #newest: LogText | undefined;
  /** The slice that was read again last. */
  #first = 1;
  #lines: string[] = [];

  /** @param source has the log. Without one, all texts are held */
  constructor(private readonly source: { readonly log?: ReadLog | undefined }) {}

  /** Whether the texts hold more than they may. */
  get isFull(): boolean {
    return this.held > HELD_LENGTH && this.source.log !== undefined;
  }

  /** @param contentOf finds the content of an envelope of the text again */
  begin(contentOf: ContentOf): LogText {
    this.#newest?.join();
    return (this.#newest = new LogText(this, contentOf));
  }

  /**
   * Reads the contents of envelopes again, a slice of the log at a time.
   *
   * @throws {QueryError} `cursor_expired` · `not_found`: the log is no longer kept · `unavailable`
   */
  async *read(first: number, last: number, contentOf: ContentOf): AsyncGenerator<string> {
    for (let seq = first; seq <= last;) {
      if (seq < this.#first || seq >= this.#first + this.#lines.length) await this.#readFrom(seq);
      const lines = this.#lines.slice(seq - this.#first, last + 1 - this.#first);
      seq += lines.length;
      yield lines.map((line) => contentOf(line)?.slice(1, -1) ?? '').join('');
    }
  }

  async #readFrom(seq: number): Promise<void> {
    const { first, lines } = await this.source.log!(seq - 1);
    this.#first = first;
    this.#lines = lines.split('\n');
  }
}

/** A text of an answer: the contents of envelopes, in their order. */
export class LogText {
  /** The numbers of the first and the last envelope of each part of the log that has it. */
  #ranges: [first: number, last: number][] = [];
  /** Whether the next envelope begins another part: those in between are void. */
  #isCut = false;
  /** What is held: as JSON, without the quotes; undefined if the text is read again. */
  #text: string | undefined = '';
  #pieces: string[] = [];
  #length = 0;

  constructor(
    private readonly texts: LogTexts,
    private readonly contentOf: ContentOf,
  ) {}

  /** @param piece the content of an envelope, as JSON with its quotes @param seq the number of the envelope */
  add(piece: string, seq: number): void {
    const range = this.#ranges.at(-1);
    if (range && !this.#isCut) range[1] = seq;
    else this.#ranges.push([seq, seq]);
    this.#isCut = false;
    this.#length += piece.length - 2;
    if (this.#text === undefined) return;
    this.texts.held += piece.length - 2;
    if (this.texts.isFull) return this.#release();
    this.#pieces.push(piece.slice(1, -1));
    if (this.#pieces.length === JOINED_PIECES) this.join();
  }

  get isEmpty(): boolean {
    return this.#ranges.length === 0;
  }

  /** The number of its newest envelope, or, if it was cut since, of one before the cut that is not older; 0 if it is empty. */
  get last(): number {
    return this.#ranges.at(-1)?.[1] ?? 0;
  }

  /** The whole as JSON, without the quotes; undefined if it is not held. */
  get short(): string | undefined {
    this.join();
    return this.#text;
  }

  /** The whole as JSON, without the quotes. */
  get json(): Piece {
    return this.short ?? this.#long();
  }

  /** Drops what came after an envelope. */
  cut(after: number): void {
    if (this.last <= after) return;
    this.#isCut = true;
    this.#ranges = this.#ranges
      .filter(([first]) => first <= after)
      .map(([first, last]) => [first, Math.min(last, after)]);
    if (this.#text !== undefined) this.#release();
    if (!this.isEmpty) return;
    this.#text = '';
    this.#length = 0;
  }

  /** Makes one text of the pieces that are held. */
  join(): void {
    if (this.#pieces.length === 0) return;
    this.#text += this.#pieces.join('');
    this.#pieces = [];
  }

  /** The text is read again from now on. */
  #release(): void {
    this.texts.held -= this.#length;
    this.#text = undefined;
    this.#pieces = [];
  }

  #long(): LongText {
    const { texts, contentOf } = this;
    const ranges = this.#ranges.map(([first, last]) => [first, last] as const);
    return {
      length: this.#length,
      async *[Symbol.asyncIterator]() {
        for (const [first, last] of ranges) yield* texts.read(first, last, contentOf);
      },
    };
  }
}
