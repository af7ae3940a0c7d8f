import { UnreadableFile } from '../unreadable-file.js';
import type { TextSink } from './text-sink.js';

/** Elements inside one another, and attributes of one element, that are read. */
const DEEPEST = 1000;
const MAX_ATTRIBUTES = 1000;
const KEPT = 1000;

/** Elements whose text is not shown. */
const HIDDEN = new Set('script style noscript template svg math select textarea iframe rt rp'.split(' '));
/** Elements that do not break a line; any other element ends a paragraph. */
const INLINE = new Set(
  (
    'a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label map mark meter object output ' +
    'progress q rp rt ruby s samp small span strike strong sub sup time tt u var wbr'
  ).split(' '),
);

/** What is known of a page besides its text. */
export interface HtmlFacts {
  title: string;
  description: string;
  /** The language that the page states. */
  language: string;
  links: number;
  images: number;
  forms: number;
  scripts: number;
}

/**
 * Reads HTML as it arrives. Nothing that it refers to is loaded, and no script is executed.
 *
 * @param facts are updated while it is read, so that they are known also where reading stops
 * @throws {UnreadableFile} if it is nested too deeply, or an element has too many attributes
 */
export async function readHtml(
  pieces: AsyncIterable<string> | Iterable<string>,
  sink: TextSink,
  facts: HtmlFacts = noFacts(),
): Promise<void> {
  const { Parser } = await import('htmlparser2');
  let depth = 0;
  let attributeCount = 0;
  let hidden = 0;
  let inTitle = false;
  let level: number | undefined;
  /** The white space at the end of the text before, which goes on in the next one. */
  let before = '';

  const parser = new Parser({
    onattribute() {
      attributeCount += 1;
      if (attributeCount > MAX_ATTRIBUTES) {
        throw new UnreadableFile(`An element of this page has more than ${MAX_ATTRIBUTES} attributes.`);
      }
    },
    onopentag(name, attributes) {
      attributeCount = 0;
      depth += 1;
      if (depth > DEEPEST) {
        throw new UnreadableFile(`The elements of this page are nested deeper than ${DEEPEST} levels.`);
      }
      noteElement(name, attributes, facts);
      if (HIDDEN.has(name)) hidden += 1;
      if (name === 'title') inTitle = hidden === 0;
      if (hidden > 0 || INLINE.has(name)) return;
      sink.endParagraph(level);
      level = /^h[1-6]$/.test(name) ? Number(name[1]) - 1 : undefined;
      if (name === 'table') sink.openTable?.();
      if (name === 'tr') sink.openRow?.();
      if (name === 'td' || name === 'th') {
        sink.openCell?.(Number(attributes['colspan'] ?? 1), Number(attributes['rowspan'] ?? 1));
      }
    },
    ontext(text) {
      if (inTitle) facts.title = (facts.title + text).slice(0, KEPT);
      if (inTitle || hidden > 0) return;
      const piece = `${before}${text}`.replace(/\s+/g, ' ');
      sink.add(piece.slice(before.length));
      before = piece.endsWith(' ') ? ' ' : '';
    },
    onclosetag(name) {
      depth -= 1;
      if (name === 'title') inTitle = false;
      if (HIDDEN.has(name)) hidden -= 1;
      if (hidden > 0 || INLINE.has(name)) return;
      sink.endParagraph(level);
      level = undefined;
      if (name === 'td' || name === 'th') sink.closeCell?.();
      if (name === 'table') sink.closeTable?.();
    },
  });
  for await (const piece of pieces) {
    parser.write(piece);
  }
  parser.end();
  sink.endParagraph(level);
}

/** What is known before anything is read. */
export function noFacts(): HtmlFacts {
  return { title: '', description: '', language: '', links: 0, images: 0, forms: 0, scripts: 0 };
}

function noteElement(name: string, attributes: Record<string, string>, facts: HtmlFacts): void {
  if (name === 'html') facts.language = attributes['lang'] ?? '';
  if (name === 'a' && attributes['href'] !== undefined) facts.links += 1;
  if (name === 'img') facts.images += 1;
  if (name === 'form') facts.forms += 1;
  if (name === 'script') facts.scripts += 1;
  if (name === 'meta' && attributes['name']?.toLowerCase() === 'description') {
    facts.description = (attributes['content'] ?? '').slice(0, KEPT);
  }
}
