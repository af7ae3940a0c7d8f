import { bytesOf, headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { decode, exactEncoding, legacyEncoding, unicodeEncoding } from '../formats/encoding.js';
import { gunzipped, headOfGzip } from '../formats/gzip.js';
import { extensionOf } from '../formats/languages.js';
import { headingStyles } from '../formats/word-document.js';
import { readXml } from '../formats/xml.js';
import { ZipArchive } from '../formats/zip-archive.js';
import { sheetsOf } from '../tables/workbook-tables.js';
import { UnreadableFile } from '../unreadable-file.js';
import { archiveFiles } from './archive-entries.js';
import { withPages } from './pages.js';
import type { Pages } from './pages.js';
import type { Passage, Passages } from './passage.js';

/** Characters of a passage, and of one file. */
const LONGEST = 10_000;
const MOST = 16 * 1024 * 1024;

/**
 * The text of a file with its places, in order; nothing if it has no text. Reading ends after 16 Mi characters.
 *
 * @throws {UnreadableFile} if it is broken or encrypted
 */
export async function* passagesOf(file: FileSource, limits: FilesLimits): Passages {
  let length = 0;
  for await (const passage of allOf(file, limits)) {
    if (passage.text.trim() === '') continue;
    yield { ...passage, text: passage.text.slice(0, LONGEST) };
    length += passage.text.length;
    if (length > MOST) return;
  }
}

async function* allOf(file: FileSource, limits: FilesLimits): Passages {
  const archive = await archiveFiles(file, limits);
  if (archive) {
    for await (const { name, open } of archive) {
      for (const passage of await passagesOfEntry(open, limits)) {
        yield { ...passage, place: { entry: name, ...passage.place } };
      }
    }
    return;
  }
  const ofPages = await withPages(file, limits, async (pages) => pages && collect(passagesOfPages(pages)));
  if (ofPages) return yield* ofPages;
  const head = await headOf(file);
  const signature = Buffer.from(head.subarray(0, 4)).toString('latin1');
  if (signature === 'PK\x03\x04') return yield* passagesOfOffice(await ZipArchive.open(file, limits));
  const isGzip = signature.startsWith('\x1f\x8b');
  const name = isGzip ? file.name.replace(/\.gz$/i, '') : file.name;
  const chunks = () => (isGzip ? gunzipped(file, limits) : bytesOf(file));
  yield* passagesOfText(name, isGzip ? await headOfGzip(file, limits) : head, chunks);
}

/** An entry that cannot be read does not keep the others from being read. Archives inside of archives are not opened. */
async function passagesOfEntry(open: () => Promise<FileSource>, limits: FilesLimits): Promise<Passage[]> {
  try {
    const entry = await open();
    return (await archiveFiles(entry, limits)) ? [] : await collect(passagesOf(entry, limits));
  } catch (error) {
    if (error instanceof UnreadableFile) return [];
    throw error;
  }
}

async function* passagesOfPages(pages: Pages): Passages {
  for (let number = 1; number <= pages.count; number += 1) {
    for (const text of (await pages.text(number)).split('\n'))
      yield { place: { [pages.what]: number }, text };
  }
}

async function* passagesOfOffice(zip: ZipArchive): Passages {
  if (zip.has('word/document.xml')) yield* await paragraphsOf(zip);
  for (const { name, rows } of (await sheetsOf(zip)) ?? []) {
    for await (const { number, cells } of rows()) {
      yield { place: { sheet: name, row: number }, text: cells.filter((cell) => cell !== null).join(' | ') };
    }
  }
}

async function paragraphsOf(zip: ZipArchive): Promise<Passage[]> {
  const levels = await headingStyles(zip);
  const passages: Passage[] = [];
  let text = '';
  let level: number | undefined;
  let inText = false;
  let length = 0;
  await readXml(zip.read('word/document.xml'), {
    open(name, attributes) {
      if (name === 'pStyle') level = levels.get(attributes['w:val'] ?? '');
      if (name === 't') inText = true;
      if (name === 'tab' || name === 'br') text += ' ';
    },
    text(piece) {
      if (inText && text.length < LONGEST) text += piece;
    },
    close(name) {
      if (name === 't') inText = false;
      if (name !== 'p') return;
      length += text.length;
      const place = { paragraph: passages.length + 1 };
      if (text.trim() !== '') passages.push({ place, text, ...(level !== undefined && { level }) });
      text = '';
      level = undefined;
    },
    isEnough: () => length > MOST,
  });
  return passages;
}

async function* passagesOfText(
  name: string,
  head: Uint8Array,
  chunks: () => AsyncIterable<Uint8Array>,
): Passages {
  const likely = unicodeEncoding(head, false) ?? legacyEncoding(head);
  if (!likely) return;
  const encoding = await exactEncoding(chunks(), likely);
  const isMarkdown = /^(md|markdown|mdx)$/.test(extensionOf(name));
  let line = 0;
  for await (const text of linesOf(decode(chunks(), encoding))) {
    line += 1;
    const hashes = isMarkdown ? /^(#{1,6})\s/.exec(text)?.[1] : undefined;
    yield { place: { line }, text, ...(hashes && { level: hashes.length - 1 }) };
  }
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop()!;
    yield* lines;
    // A text without line breaks is cut.
    if (rest.length > LONGEST) {
      yield rest;
      rest = '';
    }
  }
  if (rest !== '') yield rest;
}

async function collect(passages: Passages): Promise<Passage[]> {
  const all: Passage[] = [];
  for await (const passage of passages) all.push(passage);
  return all;
}
