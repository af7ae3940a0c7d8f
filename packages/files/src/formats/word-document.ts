import { untilStopped } from '../reading-stopped.js';
import { DocumentDigest } from './document-digest.js';
import { DRAWINGS, drawn } from './drawing-text.js';
import type { Findings } from './findings.js';
import { titleFact } from './findings.js';
import { relatedParts, titleIn } from './related-parts.js';
import { relatedPart } from './relationships.js';
import { symbolOf } from './symbol-fonts.js';
import { HIDDEN_TEXT } from './text-sink.js';
import type { Aside, TextSink } from './text-sink.js';
import { readXml } from './xml.js';
import type { XmlListener } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const KEPT = 1000;

/** Elements whose text is not shown: what was deleted or moved away, readings of characters, and what is there a second time. */
const HIDDEN = new Set(['del', 'moveFrom', 'rt', 'Fallback', 'tabs']);
/** What is said of a whole document that a program has put into this one and that no program has read yet. */
const INSERTED = 'A file that is inserted into this document as a whole is left out.';
/** Elements that stand for a character. */
const CHARACTERS = new Map([
  ['tab', ' '],
  ['ptab', ' '],
  ['br', ' '],
  ['cr', ' '],
  ['noBreakHyphen', '-'],
]);
/** The root elements of parts beside the main one that have text, and the elements of each text. */
const ROOTS = ['comments', 'footnotes', 'endnotes', 'hdr', 'ftr'];
const ASIDES = new Map<string, Aside>([
  ['comment', 'comment'],
  ['footnote', 'footnote'],
  ['endnote', 'endnote'],
  ['hdr', 'header'],
  ['ftr', 'footer'],
]);

/** Describes a Word document (ECMA-376 WordprocessingML): length, headings, tables, comments and how its text begins. */
export async function* describeDocument(zip: ZipArchive, main: string, heading: string): Findings {
  const digest = new DocumentDigest();
  const title = await documentTitle(zip);
  const stopped = await untilStopped(async () => {
    for await (const { entry, listener } of wordParts(zip, main, digest))
      await readXml(zip.read(entry), listener);
  });
  yield `${heading}${digest.toMarkdown(titleFact(title), !stopped)}`;
  if (stopped) throw stopped;
}

/** The parts of a Word document that have text, and what passes it on to a sink. @param main the entry of its main part */
export async function* wordParts(
  zip: ZipArchive,
  main: string,
  sink: TextSink,
): AsyncGenerator<{ entry: string; listener: XmlListener }> {
  yield { entry: main, listener: wordListener(sink, await headingStyles(zip, main)) };
  for (const entry of await relatedParts(zip, main, ROOTS)) yield { entry, listener: asideListener(sink) };
  for (const entry of await relatedParts(zip, main, DRAWINGS)) yield { entry, listener: drawn(sink) };
}

function wordListener(sink: TextSink, levels: Map<string, number>): XmlListener {
  let level: number | undefined;
  let inText = false;
  let hidden = 0;
  /** Whether the run is formatted as hidden. */
  let isVanished = false;
  const endParagraph = () => {
    sink.endParagraph(level);
    level = undefined;
  };
  return {
    open(name, attributes) {
      if (HIDDEN.has(name)) hidden += 1;
      if (hidden > 0) return;
      // The paragraphs of a text box are inside of another one.
      if (name === 'txbxContent') endParagraph();
      if (name === 'altChunk') sink.leaveOut?.(INSERTED);
      if (name === 'tbl') sink.openTable?.();
      if (name === 'tr') sink.openRow?.();
      if (name === 'tc') sink.openCell?.();
      // It comes before the text of its cell.
      if (name === 'gridSpan') sink.openCell?.(Number(attributes['w:val']));
      if (name === 'gridBefore' && Number(attributes['w:val']) > 0) {
        sink.openCell?.(Number(attributes['w:val']));
        sink.closeCell?.();
      }
      if (name === 'pStyle') level = levels.get(attributes['w:val'] ?? '');
      if (name === 't') inText = true;
      if (name === 'r') isVanished = false;
      if (name === 'vanish') isVanished = !/^(0|false|off)$/.test(attributes['w:val'] ?? '');
      const character = name === 'sym' ? signOf(attributes) : CHARACTERS.get(name);
      if (character !== undefined && !isVanished) sink.add(character);
    },
    text(text) {
      if (!inText || hidden > 0) return;
      if (isVanished) sink.leaveOut?.(HIDDEN_TEXT);
      else sink.add(text);
    },
    close(name) {
      if (HIDDEN.has(name)) hidden -= 1;
      else if (hidden > 0) return;
      if (name === 't') inText = false;
      if (name === 'tc') sink.closeCell?.();
      if (name === 'tbl') sink.closeTable?.();
      if (name === 'p') endParagraph();
    },
  };
}

/** A sign of a font, as Unicode has it. */
function signOf(attributes: Record<string, string>): string {
  const code = Number.parseInt(attributes['w:char'] ?? '', 16) || 0;
  const isPrivate = code < 0x100 || (code >= 0xf000 && code <= 0xf0ff);
  return isPrivate ? symbolOf(attributes['w:font'] ?? '', code) : String.fromCharCode(code);
}

/** Reads comments, notes, a header or a footer. */
function asideListener(sink: TextSink): XmlListener {
  const text = wordListener(sink, new Map());
  let author: string | undefined;
  return {
    ...text,
    open(name, attributes, tag) {
      const what = ASIDES.get(name);
      if (what) sink.openAside(what);
      if (what) author = attributes['w:author'];
      text.open?.(name, attributes, tag);
    },
    close(name) {
      text.close?.(name);
      if (ASIDES.has(name)) sink.closeAside(author);
    },
  };
}

/** The title of an office document, from its properties; empty if it has none. */
export async function documentTitle(zip: ZipArchive): Promise<string> {
  const related = await relatedPart(zip, '', 'core-properties');
  return titleIn(zip, zip.has(related) ? related : 'docProps/core.xml');
}

/**
 * The level, from 0, of each paragraph style that is a heading. A heading has an outline level, or an English name even in
 * documents of other languages.
 */
export async function headingStyles(zip: ZipArchive, main: string): Promise<Map<string, number>> {
  const levels = new Map<string, number>();
  let style = '';
  await readXml(zip.read(await relatedPart(zip, main, 'styles')), {
    open(name, attributes) {
      const value = attributes['w:val'] ?? '';
      if (name === 'style')
        style = attributes['w:type'] === 'paragraph' ? (attributes['w:styleId'] ?? '') : '';
      if (style === '' || levels.size >= KEPT) return;
      if (name === 'name' && /^heading [1-9]$/i.test(value)) levels.set(style, Number(value.at(-1)) - 1);
      if (name === 'name' && /^title$/i.test(value)) levels.set(style, 0);
      if (name === 'outlineLvl' && /^[0-8]$/.test(value)) levels.set(style, Number(value));
    },
  });
  return levels;
}
