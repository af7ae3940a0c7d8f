import { UnreadableFile } from '../unreadable-file.js';
import { HIDDEN_TEXT } from './text-sink.js';
import type { TextSink } from './text-sink.js';

/** Elements inside one another, and attributes of one element, that are read. */
const DEEPEST = 1000;
const MAX_ATTRIBUTES = 1000;
const KEPT = 1000;

/** Elements whose text is not shown. */
const HIDDEN = new Set(
  'script style noscript template select textarea iframe rt rp desc defs metadata annotation annotation-xml'.split(
    ' ',
  ),
);
/** Elements that do not break a line; any other element ends a paragraph. */
const INLINE = new Set(
  (
    'a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label map mark meter object output ' +
    'progress q rp rt ruby s samp small span strike strong sub sup svg time tt u var wbr math'
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

/** Where a reader is in a page. Depths are those of elements that are open, from 1; 0 means that there is none. */
class Position {
  depth = 0;
  /** The outermost element whose text is not shown, and whether the page itself hides it. */
  hidden = 0;
  isHiddenByPage = false;
  math = 0;
  svg = 0;
  pre = 0;

  open(name: string, attributes: Record<string, string>): void {
    this.depth += 1;
    if (this.depth > DEEPEST) {
      throw new UnreadableFile(`The elements of this page are nested deeper than ${DEEPEST} levels.`);
    }
    if (this.hidden === 0) {
      // Scripts show a page that hides all of itself.
      this.isHiddenByPage = name !== 'body' && name !== 'html' && isHidden(attributes);
      const isTitle = name === 'title' && this.svg > 0;
      if (this.isHiddenByPage || isTitle || HIDDEN.has(name)) this.hidden = this.depth;
    }
    if (name === 'math' || name === 'svg' || name === 'pre') this[name] ||= this.depth;
  }

  close(): void {
    for (const part of ['hidden', 'math', 'svg', 'pre'] as const)
      if (this[part] === this.depth) this[part] = 0;
    this.depth -= 1;
  }

  /** Whether the element that is opened or closed does not end a paragraph. */
  isInline(name: string): boolean {
    return this.hidden > 0 || INLINE.has(name) || this.math > 0 || (this.svg > 0 && name !== 'text');
  }
}

function isHidden({ hidden, style = '' }: Record<string, string>): boolean {
  return (hidden !== undefined && hidden !== 'until-found') || /(?:^|;)\s*display\s*:\s*none/i.test(style);
}

/**
 * Reads HTML as it arrives. Nothing that it refers to is loaded, and no script is executed.
 *
 * @param facts are updated while it is read, so that they are known also where reading stops
 * @param isXml whether it is XHTML, in which `<script/>` has an end; a page that begins as XML is so too
 * @throws {UnreadableFile} if it is nested too deeply, or an element has too many attributes
 */
export async function readHtml(
  pieces: AsyncIterable<string> | Iterable<string>,
  sink: TextSink,
  facts: HtmlFacts = noFacts(),
  isXml = false,
): Promise<void> {
  const { Parser } = await import('htmlparser2');
  const position = new Position();
  let attributeCount = 0;
  let inTitle = false;
  let level: number | undefined;
  /** The white space at the end of the text before, which goes on in the next one. */
  let before = '';

  const handler = {
    onattribute() {
      attributeCount += 1;
      if (attributeCount > MAX_ATTRIBUTES) {
        throw new UnreadableFile(`An element of this page has more than ${MAX_ATTRIBUTES} attributes.`);
      }
    },
    onopentag(name: string, attributes: Record<string, string>) {
      attributeCount = 0;
      position.open(name, attributes);
      noteElement(name, attributes, facts);
      if (name === 'title') inTitle = position.hidden === 0;
      if (position.isInline(name)) return;
      sink.endParagraph(level);
      level = /^h[1-6]$/.test(name) ? Number(name[1]) - 1 : undefined;
      if (name === 'table') sink.openTable?.();
      if (name === 'tr') sink.openRow?.();
      if (name === 'td' || name === 'th') {
        sink.openCell?.(Number(attributes['colspan'] ?? 1), Number(attributes['rowspan'] ?? 1));
      }
    },
    ontext(text: string) {
      if (inTitle) facts.title = (facts.title + text).slice(0, KEPT);
      if (position.hidden > 0 && position.isHiddenByPage && text.trim() !== '') sink.leaveOut?.(HIDDEN_TEXT);
      if (inTitle || position.hidden > 0) return;
      for (const [index, line] of (position.pre > 0 ? text.split('\n') : [text]).entries()) {
        if (index > 0) sink.endParagraph(level);
        // Soft hyphens are not shown.
        const shown = line.replaceAll('\u00ad', '');
        const piece =
          position.pre > 0 ? shown : `${before}${shown}`.replace(/\s+/g, ' ').slice(before.length);
        sink.add(piece);
        before = /\s$/.test(before + piece) ? ' ' : '';
      }
    },
    onclosetag(name: string) {
      const isInline = position.isInline(name);
      position.close();
      if (name === 'title') inTitle = false;
      if (isInline) return;
      sink.endParagraph(level);
      level = undefined;
      if (name === 'td' || name === 'th') sink.closeCell?.();
      if (name === 'table') sink.closeTable?.();
    },
  };
  let parser: InstanceType<typeof Parser> | undefined;
  for await (const piece of pieces) {
    const isStrict = isXml || /^\s*<\?xml\s/.test(piece);
    parser ??= new Parser(handler, { recognizeSelfClosing: isStrict, recognizeCDATA: isStrict });
    parser.write(piece);
  }
  parser?.end();
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
