import { DRAWINGS, drawn } from './drawing-text.js';
import { CONTENT } from './opendocument.js';
import { openDocumentListener } from './opendocument-text.js';
import { relatedParts } from './related-parts.js';
import type { TextSink } from './text-sink.js';
import { readWorkbook } from './workbook.js';
import type { XmlListener } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** Sheets whose comments and drawings are read. */
const MAX_SHEETS = 30;
const KEPT = 1000;

/** An entry with text that is beside the cells of sheets, and what passes it on to a sink. */
interface BesideCells {
  /** Undefined if it is that of all sheets. */
  sheet?: string;
  entry: string;
  listener: (sink: TextSink) => XmlListener;
}

/**
 * Comments on cells, text boxes, diagrams and charts of the sheets of a workbook; comments only of OpenDocument.
 *
 * @param main the entry of the main part of an Excel workbook; undefined for OpenDocument
 */
export async function* besideCells(zip: ZipArchive, main: string | undefined): AsyncGenerator<BesideCells> {
  if (main === undefined) {
    yield { entry: CONTENT, listener: (sink) => openDocumentListener(sink, { isBody: false }) };
    return;
  }
  const { sheets } = await readWorkbook(zip, main);
  for (const { name: sheet, entry } of sheets.slice(0, MAX_SHEETS)) {
    if (entry === undefined) continue;
    for (const part of await relatedParts(zip, entry, ['comments']))
      yield { sheet, entry: part, listener: commented };
    for (const part of await relatedParts(zip, entry, ['wsDr']))
      for (const drawing of [part, ...(await relatedParts(zip, part, DRAWINGS))])
        yield { sheet, entry: drawing, listener: drawn };
  }
}

/** Reads comments on cells, whose authors are in a list (ECMA-376 part 1, 18.7). */
function commented(sink: TextSink): XmlListener {
  const authors: string[] = [];
  let author = '';
  let isIn = '';
  return {
    open(name, attributes) {
      if (name === 'author' && authors.length < KEPT) authors.push('');
      if (name === 'comment') {
        author = authors[Number(attributes['authorId'])] ?? '';
        sink.openAside('comment');
      }
      isIn = name;
    },
    text(text) {
      if (isIn === 'author') authors[authors.length - 1] += text.slice(0, KEPT);
      if (isIn === 't') sink.add(text);
    },
    close(name) {
      isIn = '';
      if (name === 'comment') sink.closeAside(author.trim());
    },
  };
}
