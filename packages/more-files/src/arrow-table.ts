import type { FileHandle } from 'node:fs/promises';
import { DataType, RecordBatchReader } from 'apache-arrow';
import type { Schema } from 'apache-arrow';
import { unpackBuffersWith } from './arrow-buffers.js';
import { columnReader } from './arrow-cells.js';
import { ColumnNotes, quoted } from './column-notes.js';
import type { FileBytes } from './file-bytes.js';
import type { ReadFile } from './read-table.js';
import { UnreadableTableFile } from './unreadable-table-file.js';

/** Bytes of one record batch, packed and unpacked: one at a time is in memory. */
const LARGEST_BATCH = 128 * 1024 * 1024;
/** Bytes that are fetched at a time. */
const CHUNK = 1024 * 1024;
const TOO_LARGE =
  'A record batch of this Arrow file is larger than 128 MiB: save it in smaller batches, such as of 50,000 rows, or as Parquet.';
const BROKEN = 'This Arrow file is broken, or has a type that is not known here: save it as Parquet or CSV.';
const CUT_OFF = 'The end of this Arrow file is missing: save and send it again.';
const NO_END = 'The end mark of the Arrow stream is missing: rows may be missing, too.';

const MAGIC = 'ARROW1';
/** The end of a stream. */
const END = 'ffffffff00000000';
const ROWS_PER_CHECK = 1024;

export async function readArrowTable(file: FileBytes, isFile: boolean): Promise<ReadFile> {
  await unpackBuffersWith((bytes) => checkSize(bytes));
  const tail = Buffer.from(await file.read(Math.max(0, file.size - 8), file.size));
  if (isFile && tail.toString('latin1', 2) !== MAGIC) throw new UnreadableTableFile(CUT_OFF);
  const hasEnd = isFile || tail.toString('hex') === END;
  const { schema } = await opened(new Source(file));
  return {
    title: isFile ? 'Arrow file (Feather)' : 'Arrow stream',
    facts: [],
    tables: [
      {
        name: undefined,
        columns: schema.fields.map(({ name }) => name),
        notes: [...notesOn(schema), ...(hasEnd ? [] : [NO_END])],
        rows: (notes) => rowsOf(file, notes),
      },
    ],
  };
}

function notesOn({ fields }: Schema): string[] {
  const inUtc = fields.filter(({ type }) => DataType.isTimestamp(type) && type.timezone);
  const bytes = fields.filter(
    ({ type }) => DataType.isBinary(type) || DataType.isLargeBinary(type) || DataType.isBinaryView(type),
  );
  return [
    ...inUtc.map(({ name, type }) => {
      const { timezone } = type as { timezone: string };
      return `The times of ${quoted(name)} are shown in UTC; their zone is ${quoted(timezone)}.`;
    }),
    ...bytes.map(({ name }) => `Of the bytes in ${quoted(name)}, only their number is shown.`),
  ];
}

async function* rowsOf(file: FileBytes, notes: string[]): AsyncGenerator<(string | null)[]> {
  const source = new Source(file);
  const reader = await opened(source);
  const changed = new ColumnNotes();
  const columns = reader.schema.fields.map((field) => columnReader(field, changed));
  let batches = 0;
  try {
    for await (const batch of reader) {
      const { children } = batch.data;
      if (children.some(({ length }) => length < batch.numRows)) throw new UnreadableTableFile(BROKEN);
      for (let at = 0; at < batch.numRows; at += 1) {
        if (at % ROWS_PER_CHECK === 0) source.checkTime();
        yield columns.map((read, column) => read(children[column]!, at));
      }
      batches += 1;
    }
  } catch (error) {
    throw source.explain(error);
  }
  // The library ends without an error where a batch begins after the end of the file.
  if (reader.isFile() && batches < reader.numRecordBatches) throw new UnreadableTableFile(BROKEN);
  notes.push(...changed.sentences());
}

async function opened(source: Source): Promise<RecordBatchReader> {
  try {
    const reader: RecordBatchReader = await RecordBatchReader.from(source as unknown as FileHandle);
    await reader.open({ autoDestroy: false });
    if (!reader.schema) throw new UnreadableTableFile(BROKEN);
    return reader;
  } catch (error) {
    throw source.explain(error);
  }
}

function checkSize(bytes: number): void {
  if (bytes > LARGEST_BATCH) throw new UnreadableTableFile(TOO_LARGE);
}

/** The file in the form that the library takes for random access: the handle of a file in Node. */
class Source {
  readonly fd = -1;
  readonly #file: FileBytes;
  #failure: unknown;

  constructor(file: FileBytes) {
    this.#file = file;
  }

  async stat(): Promise<{ size: number }> {
    return { size: this.#file.size };
  }

  async read(buffer: Uint8Array, offset: number, length: number, position: number) {
    checkSize(length);
    try {
      for (let at = 0; at < length; at += CHUNK) {
        const bytes = await this.#file.read(position + at, position + Math.min(length, at + CHUNK));
        buffer.set(bytes, offset + at);
      }
    } catch (error) {
      this.#failure = error;
      throw error;
    }
    return { bytesRead: length, buffer };
  }

  checkTime(): void {
    try {
      this.#file.checkTime();
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  async close(): Promise<void> {}

  /** What the caller is told: errors of the library are about the bytes of the file. */
  explain(error: unknown): unknown {
    if (this.#failure !== undefined) return this.#failure;
    return error instanceof UnreadableTableFile ? error : new UnreadableTableFile(BROKEN);
  }
}
