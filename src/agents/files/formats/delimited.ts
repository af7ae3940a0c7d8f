import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Options } from 'csv-parse';
import { headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { code, count, table } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { ColumnProfile, isReadable } from './column-profile.js';
import { headingOf } from './findings.js';
import type { Findings } from './findings.js';
import { decode, textOf } from './encoding.js';
import type { Encoding } from './encoding.js';
import { extensionOf } from './languages.js';

const DELIMITERS = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' } as const;
type Delimiter = keyof typeof DELIMITERS;

/** Columns that are profiled; further columns are only counted. */
const PROFILED = 100;
/** Columns that are shown, at most. */
const SHOWN = 30;
/** Characters that one row may have: without a limit, a quote that is never closed would gather the whole file. */
const ROW_LENGTH = 1024 * 1024;

/** Describes a table in delimited text (RFC 4180 and similar formats), reading it row by row. */
export async function* describeDelimited(file: FileSource, encoding: Encoding): Findings {
  const { parse } = await import('csv-parse');
  const delimiter = await findDelimiter(file, encoding);
  const profile = new TableProfile();
  const parser = parse(optionsFor(delimiter));
  const stopped = await untilStopped(async () => {
    try {
      await pipeline(
        Readable.from(textOf(file, encoding)),
        parser,
        new Writable({
          objectMode: true,
          highWaterMark: 1000,
          write(row: string[], _encoding, done) {
            profile.add(row);
            done();
          },
        }),
      );
    } catch (error) {
      throw broken(error, profile.rows);
    }
  });
  const heading = headingOf(delimiter === '\t' ? 'TSV table' : 'CSV table', file);
  yield `${heading}${profile.toMarkdown(delimiter, encoding, stopped === undefined)}`;
  if (stopped) throw stopped;
}

function optionsFor(delimiter: Delimiter): Options {
  return {
    delimiter,
    // Tab-separated values have no quoting (IANA text/tab-separated-values), but most programs write quotes.
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: ROW_LENGTH,
  };
}

/** Finds the delimiter with which most of the first rows have the same number of columns, which is more than one. */
async function findDelimiter(file: FileSource, encoding: Encoding): Promise<Delimiter> {
  const { parse } = await import('csv-parse/sync');
  const sample = await beginningOf(file, encoding);
  let best: { delimiter: Delimiter; score: number } = {
    delimiter: extensionOf(file.name) === 'tsv' ? '\t' : ',',
    score: 0,
  };
  for (const delimiter of Object.keys(DELIMITERS) as Delimiter[]) {
    let rows: string[][];
    try {
      rows = parse(sample, { ...optionsFor(delimiter), to: 100 });
    } catch {
      continue;
    }
    const score = regularity(rows);
    if (score > best.score) best = { delimiter, score };
  }
  return best.delimiter;
}

/** The first complete lines of the file. */
async function beginningOf(file: FileSource, encoding: Encoding): Promise<string> {
  const head = await headOf(file);
  let text = '';
  for await (const piece of decode([head], encoding)) text += piece;
  if (head.length === file.size) return text;
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'));
  return end > 0 ? text.slice(0, end + 1) : text;
}

/** The share of rows that have the most common number of columns. Of two equal shares, more columns give a larger result. */
function regularity(rows: string[][]): number {
  const widths = new Map<number, number>();
  for (const row of rows) widths.set(row.length, (widths.get(row.length) ?? 0) + 1);
  const [width, frequency] = [...widths].reduce((a, b) => (b[1] > a[1] ? b : a), [0, 0]);
  if (width < 2) return 0;
  return frequency / rows.length + Math.min(width, 1000) / 1e6;
}

function broken(error: unknown, rows: number): unknown {
  const problem = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!problem.startsWith('CSV_')) return error;
  const where = `after ${count(rows, 'row')}`;
  if (problem === 'CSV_QUOTE_NOT_CLOSED') {
    return new UnreadableFile(`This table is broken: a quote that opens ${where} is never closed.`);
  }
  if (problem === 'CSV_MAX_RECORD_SIZE') {
    return new UnreadableFile(
      `This table is broken: ${where} comes a row of more than 1 MiB, most likely a quote that is never closed.`,
    );
  }
  return new UnreadableFile(`This table is broken ${where}: its quotes do not follow the rules of CSV.`);
}

/** The figures of a table, updated row by row. */
class TableProfile {
  rows = 0;
  #width = 0;
  #uneven = 0;
  #header: string[] | undefined;
  #first: string[] | undefined;
  readonly #columns: ColumnProfile[] = [];

  add(row: string[]): void {
    if (this.#first === undefined) {
      this.#first = row;
      this.#width = row.length;
      if (isHeader(row)) {
        this.#header = row.slice(0, PROFILED);
        return;
      }
    }
    if (row.length !== this.#width) {
      this.#uneven += 1;
      this.#width = Math.max(this.#width, row.length);
    }
    for (let index = 0; index < Math.min(row.length, PROFILED); index += 1) {
      this.#columns[index] ??= new ColumnProfile(this.rows);
      this.#columns[index]!.add(row[index]!);
    }
    for (let index = row.length; index < this.#columns.length; index += 1) this.#columns[index]!.add('');
    this.rows += 1;
  }

  toMarkdown(delimiter: Delimiter, encoding: Encoding, isComplete: boolean): string {
    const facts = [
      `${isComplete ? '' : 'At least '}${count(this.rows, 'row')} of ${count(this.#width, 'column')}, separated by ${DELIMITERS[delimiter]}s; ` +
        `${this.#header ? 'the first line names the columns' : 'no line of column names'}.`,
      `Encoding: ${encoding.name}.`,
    ];
    if (this.#uneven > 0) facts.push(`${count(this.#uneven, 'row')} of another width.`);
    const columns = Array.from({ length: Math.min(this.#width, SHOWN) }, (_, index) => [
      this.#header ? code(this.#header[index] ?? '', 40) : String(index + 1),
      ...(this.#columns[index] ?? new ColumnProfile(this.rows)).toCells(),
    ]);
    const more = this.#width > SHOWN ? `\n\n(${count(this.#width - SHOWN, 'more column')}.)` : '';
    return `${facts.join(' ')}\n\n${table(['column', 'type', 'missing', 'distinct', 'min', 'max', 'mean'], columns)}${more}`;
  }
}

/** A header has no cell that can be read as a number, a date or similar, and names most of the columns. */
function isHeader(row: string[]): boolean {
  const named = row.filter((cell) => cell.trim() !== '');
  return named.length * 2 > row.length && !named.some((cell) => isReadable(cell));
}
