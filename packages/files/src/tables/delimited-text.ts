import { truncate } from 'node:fs/promises';
import { wholeOf } from '../file-source.js';
import { decode, exactEncoding, guessNote } from '../formats/encoding.js';
import type { Encoding } from '../formats/code-pages.js';
import { count } from '../markdown.js';
import { dialectOf, regularRows, withoutEscapes, withoutLines } from './dialect.js';
import type { Dialect } from './dialect.js';
import { QuoteState } from './quote-state.js';
import { SmallTable } from './small-table.js';
import type { DelimitedTable, TableSource } from './table-source.js';
import type { Workspace } from './workspace.js';

/** Characters that decide how a text is delimited. A table of no more of them, or no more bytes, is small. */
export const SAMPLE = 64 * 1024;
/** Characters of the first line, at most, for which a sample waits. */
const LONGEST_LINE = 4 * 1024 * 1024;
const NULL_CELL = /(?:^|[\n,;\t|])\\N(?=[\n,;\t|]|$)/;

interface DelimitedSource extends TableSource {
  small(): Promise<SmallTable | undefined>;
  write(workspace: Workspace): Promise<DelimitedTable>;
}

/**
 * A table in delimited text (RFC 4180 and similar formats).
 *
 * @param chunks gives the bytes from the beginning each time that it is called
 * @param likely its encoding, as its beginning shows it
 * @param preferred the delimiter if there is one column only
 */
export function delimitedSource(
  chunks: () => AsyncIterable<Uint8Array>,
  likely: Encoding,
  preferred: string,
): DelimitedSource {
  return {
    sheet: undefined,
    async small() {
      const all = await wholeOf(chunks(), SAMPLE);
      if (!all) return undefined;
      const encoding = await exactEncoding([all], likely);
      const text = new NormalText(preferred);
      let whole = '';
      for await (const piece of text.of(decode([all], encoding, text.onUndecodable))) whole += piece;
      return smallTable(whole, text, encoding);
    },
    async write(workspace) {
      const encoding = await exactEncoding(chunks(), likely);
      const text = new NormalText(preferred);
      const path = await workspace.write(text.of(decode(chunks(), encoding, text.onUndecodable)));
      return finish(path, text, encoding);
    },
  };
}

/** @returns undefined if the text is not regular: only the engine counts what it leaves out. */
function smallTable(whole: string, text: NormalText, encoding: Encoding): SmallTable | undefined {
  const { delimiter, quote, width, note } = text.dialect!;
  const rows = quote === "'" ? undefined : regularRows(whole, delimiter, width);
  const notes = [...guessNote(encoding), ...(note === undefined ? [] : [note])];
  return rows && SmallTable.of(rows, width, undefined, [...notes, ...text.notes()], { delimiter, encoding });
}

async function finish(path: string, text: NormalText, encoding: Encoding): Promise<DelimitedTable> {
  const { delimiter, quote, skipped, width, note } = text.dialect!;
  const notes = [...guessNote(encoding), ...(note === undefined ? [] : [note])];
  const open = text.quotes!.openLine;
  if (open !== undefined) {
    await truncate(path, text.lastRow);
    const line = (skipped + open).toLocaleString('en-US');
    notes.push(`This table is broken: a quote that opens in line ${line} is never closed.`);
  }
  notes.push(...text.notes());
  return { format: 'delimited', path, delimiter, quote, width, encoding, notes };
}

/** A text whose lines end with a line feed, without what comes before its table. */
class NormalText {
  dialect: Dialect | undefined;
  quotes: QuoteState | undefined;
  /** Offset in bytes of the last row that begins outside of quotes. */
  lastRow = 0;
  #undecodable = 0;
  #hasNulls = false;
  #written = 0;
  /** A backslash at the end of a piece: the next one begins with what it escapes. */
  #held = '';

  constructor(private readonly preferred: string) {}

  async *of(pieces: AsyncIterable<string>): AsyncGenerator<string> {
    let beginning = '';
    for await (const piece of withLineFeeds(pieces)) {
      if (this.dialect) {
        yield this.#pass(piece);
        continue;
      }
      beginning += piece;
      const isEnough = beginning.length >= SAMPLE && beginning.includes('\n');
      if (isEnough || beginning.length > LONGEST_LINE) yield this.#begin(beginning, false);
    }
    if (!this.dialect) yield this.#begin(beginning, true);
    if (this.#held !== '') yield this.#held;
  }

  readonly onUndecodable = (count: number): void => {
    this.#undecodable += count;
  };

  /** Sentences about the text. */
  notes(): string[] {
    const notes = this.#hasNulls ? ['Cells with `\\N` are read as missing.'] : [];
    if (this.#undecodable > 0) notes.push(`${count(this.#undecodable, 'character')} could not be decoded.`);
    return notes;
  }

  #begin(beginning: string, isWhole: boolean): string {
    const sample = isWhole ? beginning : beginning.slice(0, beginning.lastIndexOf('\n') + 1 || undefined);
    this.dialect = dialectOf(sample, this.preferred);
    this.quotes = new QuoteState(this.dialect.delimiter, this.dialect.quote);
    return this.#pass(withoutLines(beginning, this.dialect.skipped));
  }

  #pass(piece: string): string {
    const text = this.dialect!.hasEscapes ? this.#unescaped(piece) : piece;
    this.#hasNulls ||= NULL_CELL.test(text);
    const rowAt = this.quotes!.add(text);
    if (rowAt !== undefined) this.lastRow = this.#written + Buffer.byteLength(text.slice(0, rowAt));
    this.#written += Buffer.byteLength(text);
    return text;
  }

  #unescaped(piece: string): string {
    const text = this.#held + piece;
    let backslashes = 0;
    while (text.at(-1 - backslashes) === '\\') backslashes += 1;
    this.#held = backslashes % 2 === 1 ? '\\' : '';
    return withoutEscapes(text.slice(0, text.length - this.#held.length), this.dialect!.quote);
  }
}

/** Line breaks of all systems become line feeds. */
async function* withLineFeeds(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  for await (const piece of pieces) {
    const text = held + piece;
    // The line feed of a line break may be the first character of the next piece.
    held = text.endsWith('\r') ? '\r' : '';
    yield text.slice(0, text.length - held.length).replace(/\r\n?/g, '\n');
  }
  if (held !== '') yield '\n';
}
