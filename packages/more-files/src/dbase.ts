import { ColumnNotes, quoted } from './column-notes.js';
import { encodingOfLanguage } from './dbase-encodings.js';
import { dbaseHeader } from './dbase-header.js';
import type { DbaseField, DbaseHeader } from './dbase-header.js';
import { dbaseText, isMemo } from './dbase-values.js';
import type { FileBytes } from './file-bytes.js';
import type { ReadFile } from './read-table.js';

/** Bytes that are read at a time. */
const CHUNK = 256 * 1024;
const DELETED = 0x2a;
const END_OF_FILE = 0x1a;

const LEGACY = 'windows-1252';
/** Encodings whose characters may look like those of UTF-8. */
const EAST_ASIAN = /^cp9/;
const GUESSED =
  'The file does not say the encoding of its texts: they are read as Windows-1252. Declare another one as `charset` of its type.';

type Decode = (bytes: Buffer) => string;

/** Reads tables of dBASE and FoxPro (DBF), such as those of shapefiles. */
export async function readDbase(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  const header = dbaseHeader(head);
  if (!header) return undefined;
  const { default: iconv } = await import('iconv-lite');
  const { encoding, note, isGuessed } = await encodingOf(file, header);
  const decode: Decode = (bytes) => iconv.decode(bytes, encoding);
  const read = header.fields.filter(({ type }) => !isMemo(type, header.isFoxPro));
  const memos = header.fields.filter((field) => !read.includes(field));
  return {
    title: header.isFoxPro ? 'FoxPro table (DBF)' : 'dBASE table (DBF)',
    facts: [],
    tables: [
      {
        name: undefined,
        columns: read.map(({ name }) => decode(name)),
        notes: [
          ...(note ? [note] : []),
          ...memos.map(
            ({ name }) => `The texts of ${quoted(decode(name))} are in another file, and are left out.`,
          ),
        ],
        rows: (notes) => rowsOf(file, header, read, decode, isGuessed ? GUESSED : undefined, notes),
      },
    ],
  };
}

async function* rowsOf(
  file: FileBytes,
  header: DbaseHeader,
  fields: DbaseField[],
  decode: Decode,
  noteOnTexts: string | undefined,
  notes: string[],
): AsyncGenerator<(string | null)[]> {
  const changed = new ColumnNotes();
  const columns = fields.map((field) => ({ ...field, column: decode(field.name) }));
  let deleted = 0;
  let found = 0;
  let isAscii = true;
  const textOf: Decode = (bytes) => {
    isAscii &&= !noteOnTexts || bytes.every((byte) => byte < 0x80);
    return decode(bytes);
  };
  for await (const record of recordsOf(file, header)) {
    if (record[0] === END_OF_FILE) break;
    found += 1;
    if (record[0] === DELETED) {
      deleted += 1;
      continue;
    }
    yield columns.map((field) => {
      const bytes = bytesOf(field, record, header.bits);
      return bytes && dbaseText(field, bytes, textOf, changed);
    });
  }
  notes.push(...changed.sentences());
  if (noteOnTexts && !isAscii) notes.push(noteOnTexts);
  if (deleted > 0)
    notes.push(deleted === 1 ? 'One deleted row is left out.' : `${deleted} deleted rows are left out.`);
  if (found < header.records)
    notes.push(`The header says ${header.records} rows, but the file has only ${found}.`);
}

async function* recordsOf(
  file: FileBytes,
  { start, records, recordLength }: DbaseHeader,
): AsyncGenerator<Buffer> {
  const size = Math.max(1, Math.floor(CHUNK / recordLength)) * recordLength;
  const end = Math.min(file.size, start + records * recordLength);
  for (let at = start; at + recordLength <= end; at += size) {
    file.checkTime();
    const chunk = Buffer.from(await file.read(at, Math.min(end, at + size)));
    for (let next = recordLength; next <= chunk.length; next += recordLength) {
      yield chunk.subarray(next - recordLength, next);
    }
  }
}

/** The bytes of a field; null if FoxPro says that it is null. */
function bytesOf(field: DbaseField, record: Buffer, bits: DbaseField | undefined): Buffer | null {
  const { start, length, nullBit, lengthBit } = field;
  const isSet = (bit: number | undefined) =>
    bit !== undefined && bits !== undefined && (record[bits.start + (bit >> 3)]! & (1 << (bit % 8))) !== 0;
  if (isSet(nullBit)) return null;
  const used = isSet(lengthBit) ? Math.min(length, record[start + length - 1]!) : length;
  return record.subarray(start, start + used);
}

/** The declared encoding, or that of the header; UTF-8 if all that is not ASCII at the beginning is that. */
async function encodingOf(
  file: FileBytes,
  header: DbaseHeader,
): Promise<{ encoding: string; note?: string; isGuessed: boolean }> {
  const { default: iconv } = await import('iconv-lite');
  const [, declared] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(file.mimeType) ?? [];
  if (declared && iconv.encodingExists(declared)) return { encoding: declared, isGuessed: false };
  const said = encodingOfLanguage(header.language);
  const isCertain = said !== undefined && EAST_ASIAN.test(said);
  if (isCertain || !(await looksLikeUtf8(file, header)))
    return { encoding: said ?? LEGACY, isGuessed: !said };
  const note = `Its texts are UTF-8, although its header says ${said}.`;
  return { encoding: 'utf-8', ...(said && { note }), isGuessed: false };
}

/** Whether the first rows have characters outside of ASCII, all of which are UTF-8. */
async function looksLikeUtf8(file: FileBytes, header: DbaseHeader): Promise<boolean> {
  const texts = header.fields.filter(({ type }) => type === 'C' || type === 'V');
  let isAscii = true;
  let rest = CHUNK;
  for await (const record of recordsOf(file, header)) {
    for (const { start, length } of texts) {
      const text = fromUtf8(record.subarray(start, start + length));
      if (text === undefined) return false;
      isAscii &&= /^[\0-\x7f]*$/.test(text);
    }
    rest -= record.length;
    if (rest <= 0) break;
  }
  return !isAscii;
}

/** A text of UTF-8, whose last character may be cut off by the end of its field; undefined if it is none. */
function fromUtf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}
