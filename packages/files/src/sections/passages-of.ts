import { bytesOf, headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { LEVELS } from '../formats/contained-files.js';
import { decoderOf } from '../formats/code-pages.js';
import {
  certainEncoding,
  decode,
  decodeMarkup,
  exactEncoding,
  guessNote,
  guessedEncoding,
  typeInside,
} from '../formats/encoding.js';
import { documentsOf } from '../formats/epub.js';
import { gunzipped, headOfGzip } from '../formats/gzip.js';
import { extensionOf } from '../formats/languages.js';
import { readHtml } from '../formats/html-reader.js';
import { headersOf, isTextInHtml, readMail } from '../formats/mail.js';
import { readNotebook, textsOfCell } from '../formats/notebook.js';
import { mimeTypeOf, openDocumentKind, openTextParts } from '../formats/opendocument.js';
import { officeDocumentOf } from '../formats/relationships.js';
import { RtfReader } from '../formats/rtf.js';
import { paced } from '../formats/paced.js';
import { textKindOf } from '../formats/text-kind.js';
import { besideCells } from '../formats/sheet-asides.js';
import { kindOfText } from '../formats/text-kinds.js';
import { wordParts } from '../formats/word-document.js';
import { readXml } from '../formats/xml.js';
import { ZipArchive } from '../formats/zip-archive.js';
import { isOffered, moreTexts } from '../tables/more-tables.js';
import { sheetsOf } from '../tables/workbook-tables.js';
import { UnreadableFile } from '../unreadable-file.js';
import { archiveFiles, textKindIn } from './archive-entries.js';
import { openPages } from './pages.js';
import type { Pages } from './pages.js';
import { byLine, passagesOfLines, withoutEscapes, withoutReferences } from './lines.js';
import { passagesOfSheets, passagesOfTexts } from './passages-of-rows.js';
import { PassageSink, passagesFrom } from './passage-sink.js';
import type { Passage, Passages } from './passage.js';

/** Characters of a passage, and of one file. */
const LONGEST = 10_000;
export const MOST = 16 * 1024 * 1024;

/**
 * The text of a file with its places, in order; nothing if it has no text. Reading ends after 16 Mi characters.
 *
 * @param notes gets sentences about how it is read
 * @throws {UnreadableFile} if it is broken or encrypted
 */
export async function* passagesOf(
  file: FileSource,
  limits: FilesLimits,
  notes: Set<string> = new Set(),
  level = 1,
): Passages {
  let length = 0;
  for await (const passage of allOf(file, limits, notes, level)) {
    if (passage.text.trim() === '') continue;
    for (const text of piecesOf(passage.text)) yield { ...passage, text };
    length += passage.text.length;
    if (length > MOST) return;
  }
}

/** A long text in pieces that end between words. */
function* piecesOf(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > LONGEST) {
    const space = text.lastIndexOf(' ', start + LONGEST) + 1;
    const end = space > start ? space : start + LONGEST;
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

async function* allOf(file: FileSource, limits: FilesLimits, notes: Set<string>, level: number): Passages {
  const head = await headOf(file);
  const isMessage = (await textKindIn(file, head)) === 'e-mail';
  if (isMessage) yield* passagesOfMail(file, limits, notes);
  const archive = await archiveFiles(file, limits);
  for await (const { name, open } of archive ?? []) {
    for (const { place, ...passage } of await passagesOfEntry(open, limits, notes, level + 1)) {
      const entry = place.entry === undefined ? name : `${name}/${place.entry}`;
      yield { ...passage, place: { ...place, entry } };
    }
  }
  if (archive || isMessage) return;
  const pages = await openPages(file, limits);
  if (pages) return yield* passagesOfPages(pages, file);
  const isText = (certainEncoding(file.mimeType, head, false) ?? (await guessedEncoding(head))) !== undefined;
  const texts = !isText || isOffered(file, head) ? await moreTexts(file, notes) : undefined;
  if (texts) return yield* passagesOfTexts(texts);
  const signature = Buffer.from(head.subarray(0, 4)).toString('latin1');
  if (signature === 'PK\x03\x04') return yield* passagesOfOffice(await ZipArchive.open(file, limits), notes);
  const isGzip = signature.startsWith('\x1f\x8b');
  const label = isGzip
    ? { name: file.name.replace(/\.gz$/i, ''), mimeType: typeInside(file.mimeType) }
    : file;
  const chunks = () => (isGzip ? gunzipped(file, limits) : bytesOf(file));
  yield* passagesOfText(label, isGzip ? await headOfGzip(file, limits) : head, chunks, notes);
}

/**
 * An entry that cannot be read does not keep the others from being read. Archives inside of archives are not opened; e-mails and
 * mailboxes are, on some levels.
 */
async function passagesOfEntry(
  open: () => Promise<FileSource>,
  limits: FilesLimits,
  notes: Set<string>,
  level: number,
): Promise<Passage[]> {
  try {
    const entry = await open();
    const kind = (await textKindIn(entry, await headOf(entry))) ?? '';
    const isOpened = level <= LEVELS && ['e-mail', 'mailbox'].includes(kind);
    if (!isOpened && (await archiveFiles(entry, limits))) return [];
    return await collect(passagesOf(entry, limits, notes, level));
  } catch (error) {
    if (error instanceof UnreadableFile) return [];
    throw error;
  }
}

async function* passagesOfPages(pages: Pages, file: FileSource): Passages {
  let number = 0;
  try {
    for await (const page of pages.texts?.() ?? oneByOne(pages)) {
      file.checkTime();
      number += 1;
      const place = { [pages.what]: number };
      for (const text of page.split('\n')) yield { place, text };
      for (const text of ((await pages.notes?.(number)) ?? '').split('\n'))
        yield { place: { ...place, aside: 'notes' }, text };
    }
  } finally {
    await pages.close?.();
  }
}

async function* oneByOne(pages: Pages): AsyncGenerator<string> {
  for (let number = 1; number <= pages.count; number += 1) yield pages.text(number);
}

async function* passagesOfOffice(zip: ZipArchive, notes: Set<string>): Passages {
  const sink = new PassageSink();
  const office = await officeDocumentOf(zip);
  const isWord = office?.kind === 'Word document';
  const isText = !office && (await openDocumentKind(zip)) === 'text';
  const parts = isWord ? wordParts(zip, office.main, sink) : isText ? openTextParts(zip, sink) : [];
  for await (const { entry, listener } of parts)
    yield* passagesFrom(zip.read(entry), sink, (chunks) => readXml(chunks, listener));
  if (isWord || isText) return noteLeftOut(sink, notes);
  if ((await mimeTypeOf(zip)) === 'application/epub+zip') return yield* passagesOfBook(zip, notes);
  const sheets = await sheetsOf(zip);
  if (!sheets) return;
  yield* passagesOfSheets(sheets);
  const sinks = new Map<string | undefined, PassageSink>();
  for await (const { sheet, entry, listener } of besideCells(zip, office?.main)) {
    const beside = sinks.get(sheet) ?? new PassageSink(sheet === undefined ? {} : { sheet });
    sinks.set(sheet, beside);
    yield* passagesFrom(zip.read(entry), beside, (chunks) => readXml(chunks, listener(beside)));
  }
}

async function* passagesOfBook(zip: ZipArchive, notes: Set<string>): Passages {
  for (const [index, entry] of (await documentsOf(zip)).entries()) {
    const sink = new PassageSink({ document: index + 1 });
    yield* passagesFrom(zip.read(entry), sink, (chunks) =>
      readHtml(decodeMarkup(chunks), sink, undefined, true),
    );
    noteLeftOut(sink, notes);
  }
}

/** The lines of the cells of a notebook, and of what they have put out. */
async function* passagesOfNotebook(chunks: AsyncGenerator<Uint8Array>, notes: Set<string>): Passages {
  const found: Passage[] = [];
  let cell = 0;
  const addCell = (each: unknown) => {
    cell += 1;
    for (const { text, isOutput } of textsOfCell(each))
      for (const [at, line] of text.split(/\r?\n/).entries())
        found.push({ place: { cell, line: at + 1, ...(isOutput && { aside: 'output' }) }, text: line });
  };
  yield* paced<Passage>(
    chunks,
    async (all) => {
      const isWhole = await readNotebook(all, { addCell, addMetadata: () => undefined });
      if (!isWhole) notes.add('This notebook is broken or cut off: what follows is left out.');
    },
    () => found.splice(0),
  );
}

async function* passagesOfMail(file: FileSource, limits: FilesLimits, notes: Set<string>): Passages {
  const { mail, notes: said } = await readMail(file, limits);
  for (const note of said) notes.add(note);
  for (const [name, values] of headersOf(mail))
    yield { place: { aside: 'header' }, text: `${name}: ${values.join(', ')}`, isParagraph: true };
  if (!(await isTextInHtml(mail))) return yield* passagesOfLines([mail.text ?? ''], false);
  const sink = new PassageSink();
  await readHtml([mail.html ?? ''], sink);
  noteLeftOut(sink, notes);
  yield* sink.take();
}

async function* passagesOfText(
  label: { name: string; mimeType: string },
  head: Uint8Array,
  chunks: () => AsyncGenerator<Uint8Array>,
  notes: Set<string>,
): Passages {
  const likely = certainEncoding(label.mimeType, head, false) ?? (await guessedEncoding(head));
  if (!likely) return;
  const beginning = decoderOf(likely.label).decode(head, { stream: true }).trimStart();
  const kind = kindOfText(label, beginning);
  if (kind === 'RTF') {
    const sink = new PassageSink();
    const reader = new RtfReader(sink);
    yield* passagesFrom(chunks(), sink, (all) => reader.read(all));
    reader.end();
    yield* sink.take();
    return noteLeftOut(sink, notes);
  }
  const encoding = await exactEncoding(chunks(), likely);
  for (const note of guessNote(encoding)) notes.add(note);
  if (kind === 'notebook') return yield* passagesOfNotebook(chunks(), notes);
  if (kind === 'HTML') {
    const sink = new PassageSink({ line: 1 });
    yield* passagesFrom(chunks(), sink, (all) => readHtml(byLine(decode(all, encoding), sink.place), sink));
    return noteLeftOut(sink, notes);
  }
  const isMarkdown = /^(md|markdown|mdx)$/.test(extensionOf(label.name));
  const isJson = kind === undefined && textKindOf(label, beginning) === 'json';
  const shown = kind === 'XML' ? withoutReferences : isJson ? withoutEscapes : undefined;
  yield* passagesOfLines(decode(chunks(), encoding), isMarkdown, shown);
}

function noteLeftOut({ leftOut }: PassageSink, notes: Set<string>): void {
  for (const sentence of leftOut) notes.add(sentence);
}

async function collect(passages: Passages): Promise<Passage[]> {
  const all: Passage[] = [];
  for await (const passage of passages) all.push(passage);
  return all;
}
