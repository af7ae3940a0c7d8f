import { code, count, numbered } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import { DocumentDigest } from './document-digest.js';
import { titleFact } from './findings.js';
import type { Findings } from './findings.js';
import { describeSheets } from './opendocument-sheets.js';
import { rowsOfOpenSheet, sheetNames } from './opendocument-rows.js';
import { openDocumentListener } from './opendocument-text.js';
import { titleIn } from './related-parts.js';
import { readXml } from './xml.js';
import type { XmlListener } from './xml.js';
import type { TextSheet } from './text-sheet.js';
import type { TextSink } from './text-sink.js';
import type { ZipArchive } from './zip-archive.js';

/** The entry with the content of all kinds of them. */
export const CONTENT = 'content.xml';
const STYLES = 'styles.xml';
const PROPERTIES = 'meta.xml';
const SHOWN_SLIDES = 20;

const KINDS = new Map<string, { title: string; describe: (zip: ZipArchive) => Findings }>([
  ['text', { title: 'OpenDocument text', describe: describeText }],
  ['graphics', { title: 'OpenDocument drawing', describe: describeText }],
  ['spreadsheet', { title: 'OpenDocument spreadsheet', describe: (zip) => describeSheets(zip, CONTENT) }],
  ['presentation', { title: 'OpenDocument presentation', describe: describeSlides }],
]);

/**
 * The kind of an OpenDocument file (OASIS ODF 1.3 part 2, 3.3), and how to describe it if it is not encrypted; undefined if it is
 * none.
 *
 * @param mimeType what its entry `mimetype` says
 */
export function openDocumentOf(mimeType: string) {
  return KINDS.get(statedKind(mimeType));
}

/** The kind of an OpenDocument file that is not encrypted, such as `text`; empty if it is none. */
export async function openDocumentKind(zip: ZipArchive): Promise<string> {
  const kind = kindOf(await mimeTypeOf(zip));
  if (kind !== '') await checkEncryption(zip);
  return kind;
}

/** A drawing is read as a text is. */
function kindOf(mimeType: string): string {
  return statedKind(mimeType).replace('graphics', 'text');
}

function statedKind(mimeType: string): string {
  return (
    /^application\/vnd\.oasis\.opendocument\.([a-z]{1,20})(-template|-master|-web)?$/.exec(mimeType)?.[1] ??
    ''
  );
}

/** The sheets of an OpenDocument spreadsheet, which can be read row by row; undefined if it is none. */
export async function openDocumentSheets(zip: ZipArchive, most: number): Promise<TextSheet[] | undefined> {
  if (kindOf(await mimeTypeOf(zip)) !== 'spreadsheet') return undefined;
  const names = await sheetNames(zip, CONTENT, most);
  return names.map((sheet, index) => ({
    ...sheet,
    tables: [],
    rows: (notes) => rowsOfOpenSheet(zip, CONTENT, index, notes),
  }));
}

async function* describeText(zip: ZipArchive): Findings {
  const digest = new DocumentDigest();
  const title = await titleIn(zip, PROPERTIES);
  const stopped = await untilStopped(async () => {
    for (const { entry, listener } of openTextParts(zip, digest)) await readXml(zip.read(entry), listener);
  });
  yield digest.toMarkdown(titleFact(title), !stopped);
  if (stopped) throw stopped;
}

/** The entries of an OpenDocument text that have text, and what passes it on to a sink. */
export function openTextParts(zip: ZipArchive, sink: TextSink): { entry: string; listener: XmlListener }[] {
  return [
    { entry: CONTENT, listener: openDocumentListener(sink) },
    // It has the headers and footers.
    ...(zip.has(STYLES) ? [{ entry: STYLES, listener: openDocumentListener(sink, { isBody: false }) }] : []),
  ];
}

async function* describeSlides(zip: ZipArchive): Findings {
  const digest = new DocumentDigest();
  const title = await titleIn(zip, PROPERTIES);
  const slides: string[] = [];
  let found = 0;
  let inTitle = false;
  let hasTitle = false;
  const onParagraph = (paragraph: string) => {
    if (found > SHOWN_SLIDES || paragraph === '' || hasTitle) return;
    // Without a title, the first line says what the slide is about.
    if (inTitle || slides[found - 1] === '') slides[found - 1] = paragraph;
    hasTitle = inTitle;
  };
  const listener = openDocumentListener(digest, { onParagraph });
  const stopped = await untilStopped(() =>
    readXml(zip.read(CONTENT), {
      ...listener,
      open(name, attributes, tag) {
        if (name === 'page') {
          found += 1;
          hasTitle = false;
          if (found <= SHOWN_SLIDES) slides.push('');
        }
        if (name === 'frame') inTitle = attributes['presentation:class'] === 'title';
        listener.open?.(name, attributes, tag);
      },
    }),
  );
  const shown = slides.map((slide) => (slide ? code(slide) : '(without text)'));
  const atLeast = stopped ? 'At least ' : '';
  const figures = `${atLeast}${count(found, 'slide')}, ${count(digest.tally.words, 'word')}.`;
  const list = numbered(shown, found - SHOWN_SLIDES, 'slide');
  const parts = [[...titleFact(title), figures].join(' '), list, digest.beginning(!stopped)];
  yield parts.filter((part) => part !== '').join('\n\n');
  if (stopped) throw stopped;
}

/**
 * The manifest says which entries are encrypted (ODF 1.3 part 2, 4.4). The entry itself looks like any other.
 *
 * @throws {UnreadableFile} if it has such entries
 */
export async function checkEncryption(zip: ZipArchive): Promise<void> {
  let found = false;
  if (!zip.has('META-INF/manifest.xml')) return;
  await readXml(zip.read('META-INF/manifest.xml'), {
    open(name) {
      if (name === 'encryption-data') found = true;
    },
    isEnough: () => found,
  });
  if (found) throw new UnreadableFile('This document is encrypted: it opens with its password only.');
}

/** What OpenDocument files and e-books say of themselves (OASIS ODF 1.3 part 2, 3.3; EPUB OCF 3.3, 4.2.6.2). */
export async function mimeTypeOf(zip: ZipArchive): Promise<string> {
  if (!zip.has('mimetype') || zip.sizeOf('mimetype') > 200) return '';
  let text = '';
  for await (const chunk of zip.read('mimetype')) text += Buffer.from(chunk).toString('latin1');
  return text.trim();
}
