import { truncate } from 'node:fs/promises';
import { decode, exactEncoding } from '../formats/encoding.js';
import type { Encoding } from '../formats/encoding.js';
import { count } from '../markdown.js';
import { dialectOf, withoutLines } from './dialect.js';
import type { Dialect } from './dialect.js';
import { QuoteState } from './quote-state.js';
import type { DelimitedTable, TableSource } from './table-source.js';
import type { Workspace } from './workspace.js';

/** Characters that decide how a text is delimited. */
const SAMPLE = 64 * 1024;
/** Characters of the first line, at most, for which a sample waits. */
const LONGEST_LINE = 4 * 1024 * 1024;

interface DelimitedSource extends TableSource {
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
    async write(workspace) {
      const encoding = await exactEncoding(chunks(), likely);
      const text = new NormalText(preferred);
      const path = await workspace.write(text.of(decode(chunks(), encoding)));
      return finish(path, text, encoding);
    },
  };
}

async function finish(path: string, text: NormalText, encoding: Encoding): Promise<DelimitedTable> {
  const { delimiter, skipped, width, note } = text.dialect!;
  const notes = note === undefined ? [] : [note];
  const open = text.quotes!.openLine;
  if (open !== undefined) {
    await truncate(path, text.lastRow);
    const line = (skipped + open).toLocaleString('en-US');
    notes.push(`This table is broken: a quote that opens in line ${line} is never closed.`);
  }
  if (text.undecodable > 0) {
    notes.push(`${count(text.undecodable, 'character')} could not be decoded.`);
  }
  return { format: 'delimited', path, delimiter, width, encoding, notes };
}

/** A text whose lines end with a line feed, without what comes before its table. */
class NormalText {
  dialect: Dialect | undefined;
  quotes: QuoteState | undefined;
  /** Offset in bytes of the last row that begins outside of quotes. */
  lastRow = 0;
  undecodable = 0;
  #written = 0;

  constructor(private readonly preferred: string) {}

  async *of(pieces: AsyncIterable<string>): AsyncGenerator<string> {
    let beginning = '';
    for await (const piece of withLineFeeds(pieces)) {
      this.undecodable += piece.split('\ufffd').length - 1;
      if (this.dialect) {
        yield this.#pass(piece);
        continue;
      }
      beginning += piece;
      const isEnough = beginning.length >= SAMPLE && beginning.includes('\n');
      if (isEnough || beginning.length > LONGEST_LINE) yield this.#begin(beginning, false);
    }
    if (!this.dialect) yield this.#begin(beginning, true);
  }

  #begin(beginning: string, isWhole: boolean): string {
    const sample = isWhole ? beginning : beginning.slice(0, beginning.lastIndexOf('\n') + 1 || undefined);
    this.dialect = dialectOf(sample, this.preferred);
    this.quotes = new QuoteState(this.dialect.delimiter);
    return this.#pass(withoutLines(beginning, this.dialect.skipped));
  }

  #pass(text: string): string {
    const rowAt = this.quotes!.add(text);
    if (rowAt !== undefined) this.lastRow = this.#written + Buffer.byteLength(text.slice(0, rowAt));
    this.#written += Buffer.byteLength(text);
    return text;
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

/** Rows of texts as delimited text, in which an empty cell differs from an empty text. */
export async function writeRows(
  workspace: Workspace,
  rows: AsyncIterable<(string | null)[]>,
  names?: string[],
): Promise<DelimitedTable> {
  let width = names?.length ?? 1;
  async function* lines(): AsyncGenerator<string> {
    let text = '';
    for await (const row of rows) {
      width = Math.max(width, row.length);
      text += `${row.map(quoted).join(',')}\n`;
      if (text.length < SAMPLE) continue;
      yield text;
      text = '';
    }
    yield text;
  }
  const path = await workspace.write(lines());
  const table: DelimitedTable = {
    format: 'delimited',
    path,
    delimiter: ',',
    width,
    encoding: undefined,
    notes: [],
  };
  return names ? { ...table, names } : table;
}

function quoted(cell: string | null): string {
  return cell === null ? '' : `"${cell.replaceAll('"', '""').replace(/\r\n?/g, '\n')}"`;
}
