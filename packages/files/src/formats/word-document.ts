import { plain } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import { DocumentDigest } from './document-digest.js';
import type { Findings } from './findings.js';
import { titleFact } from './findings.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const KEPT = 1000;

/** Describes a Word document (ECMA-376 WordprocessingML): length, headings, tables, comments and how its text begins. */
export async function* describeDocument(zip: ZipArchive, heading: string): Findings {
  const levels = await headingStyles(zip);
  const digest = new DocumentDigest();
  let level: number | undefined;
  let inText = false;
  const title = await documentTitle(zip);
  const stopped = await untilStopped(async () => {
    await readXml(zip.read('word/document.xml'), {
      open(name, attributes) {
        if (name === 'tbl') digest.openTable();
        if (name === 'tr') digest.openRow();
        if (name === 'tc') digest.openCell();
        // It comes before the text of its cell.
        if (name === 'gridSpan') digest.openCell(Number(attributes['w:val']));
        if (name === 'gridBefore' && Number(attributes['w:val']) > 0) {
          digest.openCell(Number(attributes['w:val']));
          digest.closeCell();
        }
        if (name === 'pStyle') level = levels.get(attributes['w:val'] ?? '');
        if (name === 't') inText = true;
        if (name === 'tab' || name === 'br') digest.add(' ');
      },
      text(text) {
        if (inText) digest.add(text);
      },
      close(name) {
        if (name === 't') inText = false;
        if (name === 'tc') digest.closeCell();
        if (name === 'tbl') digest.closeTable();
        if (name !== 'p') return;
        digest.endParagraph(level);
        level = undefined;
      },
    });
    await readComments(zip, digest);
  });
  yield `${heading}${digest.toMarkdown(titleFact(title), !stopped)}`;
  if (stopped) throw stopped;
}

async function readComments(zip: ZipArchive, digest: DocumentDigest): Promise<void> {
  if (!zip.has('word/comments.xml')) return;
  let author = '';
  let text = '';
  let inText = false;
  await readXml(zip.read('word/comments.xml'), {
    open(name, attributes) {
      if (name === 'comment') {
        author = attributes['w:author'] ?? '';
        text = '';
      }
      if (name === 't') inText = true;
    },
    text(piece) {
      if (inText && text.length < KEPT) text += piece.slice(0, KEPT);
    },
    close(name) {
      if (name === 't') inText = false;
      if (name === 'p') text += ' ';
      if (name === 'comment') digest.addComment(author, text.trim());
    },
  });
}

/** The title of an office document, from its properties; empty if it has none. */
export async function documentTitle(zip: ZipArchive): Promise<string> {
  let title = '';
  let inTitle = false;
  if (!zip.has('docProps/core.xml')) return title;
  await readXml(zip.read('docProps/core.xml'), {
    open: (name) => (inTitle = name === 'title'),
    text(text) {
      if (inTitle && title.length < KEPT) title += text;
    },
    close: () => (inTitle = false),
  });
  return plain(title.trim(), 200);
}

/**
 * The level, from 0, of each paragraph style that is a heading. A heading has an outline level, or an English name even in
 * documents of other languages.
 */
export async function headingStyles(zip: ZipArchive): Promise<Map<string, number>> {
  const levels = new Map<string, number>();
  let style = '';
  if (!zip.has('word/styles.xml')) return levels;
  await readXml(zip.read('word/styles.xml'), {
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
