import { posix } from 'node:path';
import { code, count, numbered, plain } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { DocumentDigest } from './document-digest.js';
import { decodeMarkup } from './encoding.js';
import type { Findings } from './findings.js';
import { readHtml } from './html-reader.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const SHOWN_CHAPTERS = 20;
/** Documents of one book that are read, at most. */
const MAX_DOCUMENTS = 10_000;
const KEPT = 200;
/** Properties of a book that are shown, by the name of their element. */
const FACTS = new Map([
  ['title', 'Title'],
  ['creator', 'Author'],
  ['language', 'Language'],
  ['publisher', 'Publisher'],
]);

/** What the package document of a book says (EPUB 3.3, 5). */
interface Book {
  facts: Map<string, string>;
  /** Entries of the text in reading order. */
  spine: string[];
  /** The entry with the table of contents, and whether it is one of older books (NCX) and no XHTML document. */
  contents: { entry: string; isNcx: boolean } | undefined;
}

/** Describes an e-book: title, author, chapters and how its text begins. */
export async function* describeEpub(zip: ZipArchive, heading: string): Findings {
  const { facts, spine, contents } = await readPackage(zip);
  const sentences = [...facts].map(([name, value]) => `${name}: ${code(value, 200)}.`);
  const chapters = contents === undefined ? [] : await chaptersOf(zip, contents.entry, contents.isNcx);
  yield `${heading}${[...sentences, chapters.length > 0 ? `${count(chapters.length, 'chapter')}:` : ''].join(' ').trim()}`;
  if (chapters.length > 0) {
    const shown = chapters.slice(0, SHOWN_CHAPTERS).map((chapter) => code(chapter));
    yield `\n\n${numbered(shown, chapters.length - SHOWN_CHAPTERS, 'chapter')}`;
  }
  await checkEncryption(zip, spine);
  const digest = new DocumentDigest();
  const stopped = await untilStopped(async () => {
    for (const entry of spine) await readHtml(decodeMarkup(zip.read(entry)), digest, undefined, true);
  });
  const figures = `${stopped ? 'At least ' : ''}${count(digest.tally.words, 'word')} in ${count(spine.length, 'document')}.`;
  yield `\n\n${[figures, digest.beginning(!stopped)].filter((part) => part !== '').join('\n\n')}`;
  if (stopped) throw stopped;
}

/** The entries of the text of a book in reading order. @throws {UnreadableFile} if its text is encrypted */
export async function documentsOf(zip: ZipArchive): Promise<string[]> {
  const { spine } = await readPackage(zip);
  await checkEncryption(zip, spine);
  return spine;
}

async function readPackage(zip: ZipArchive): Promise<Book> {
  const entry = await packageEntry(zip);
  const folder = posix.dirname(entry);
  const facts = new Map<string, string>();
  const items = new Map<string, string>();
  const spine: string[] = [];
  let contents: string | undefined;
  let ncx: string | undefined;
  let fact: string | undefined;
  let value = '';
  await readXml(zip.read(entry), {
    open(name, { id, href, idref, properties, 'media-type': type }) {
      fact = FACTS.get(name);
      if (name === 'item' && id !== undefined && href !== undefined && items.size < MAX_DOCUMENTS) {
        const target = posix.join(folder, decoded(href));
        items.set(id, target);
        if (properties?.split(' ').includes('nav')) contents = target;
        if (type === 'application/x-dtbncx+xml') ncx = target;
      }
      if (name !== 'itemref' || spine.length >= MAX_DOCUMENTS) return;
      const target = items.get(idref ?? '');
      if (target !== undefined && zip.has(target)) spine.push(target);
    },
    text(text) {
      if (fact === undefined) return;
      if (value.length < KEPT) value += text;
    },
    close() {
      const known = fact === undefined ? undefined : facts.get(fact);
      const all = new Set([known, plain(value.trim(), KEPT)].filter((part) => part));
      if (fact !== undefined && all.size > 0) facts.set(fact, plain([...all].join(', '), KEPT));
      fact = undefined;
      value = '';
    },
  });
  const old = ncx === undefined ? undefined : { entry: ncx, isNcx: true };
  return { facts, spine, contents: contents === undefined ? old : { entry: contents, isNcx: false } };
}

/** The name of the package document (EPUB Open Container Format 3.3, 4.2.6.3.1). */
async function packageEntry(zip: ZipArchive): Promise<string> {
  let entry: string | undefined;
  await readXml(zip.read('META-INF/container.xml'), {
    open(name, attributes) {
      if (name === 'rootfile') entry ??= attributes['full-path'];
    },
  });
  if (entry === undefined || !zip.has(entry)) {
    throw new UnreadableFile('This e-book is broken: it does not say what it consists of.');
  }
  return entry;
}

/** Some entries only a reader with a licence can open (EPUB Open Container Format 3.3, 4.2.6.3.2); often only fonts. */
async function checkEncryption(zip: ZipArchive, spine: string[]): Promise<void> {
  if (!zip.has('META-INF/encryption.xml')) return;
  const documents = new Set(spine);
  await readXml(zip.read('META-INF/encryption.xml'), {
    open(name, { URI: uri }) {
      if (name === 'CipherReference' && uri !== undefined && documents.has(decoded(uri)))
        throw new UnreadableFile('Its text is encrypted.');
    },
  });
}

/** The titles of the table of contents. */
async function chaptersOf(zip: ZipArchive, entry: string, isNcx: boolean): Promise<string[]> {
  const chapters: string[] = [];
  let inContents = isNcx;
  let title: string | undefined;
  const endTitle = () => {
    const text = title?.trim();
    if (text && chapters.length < MAX_DOCUMENTS) chapters.push(text);
    title = undefined;
  };
  await readXml(zip.read(entry), {
    open(name, attributes) {
      // Other lists of the document are those of pages and landmarks.
      if (name === 'nav') inContents = (attributes['epub:type'] ?? 'toc').split(' ').includes('toc');
      // A part of a book without a page of its own has no link, but a list.
      if (name === 'ol') endTitle();
      if (name === (isNcx ? 'navPoint' : 'li') && inContents) title = '';
    },
    text(text) {
      if (title !== undefined && title.length < KEPT) title += text;
    },
    close(name) {
      if (['navLabel', 'a', 'li'].includes(name)) endTitle();
    },
  });
  return chapters;
}

function decoded(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}
