import type { Aside, TextSink } from './text-sink.js';
import type { XmlListener } from './xml.js';

/** Characters of the name of an author that are kept. */
const KEPT = 1000;

/** What is not shown: deleted text, marks of notes, readings of characters, short names of authors, and what describes pictures. */
const HIDDEN = [
  'tracked-changes',
  'note-citation',
  'ruby-text',
  'date-string',
  'creator-initials',
  'sender-initials',
  'desc',
  'binary-data',
];
/** What a merged cell covers has cells of its own. */
const CELLS = ['table-cell', 'covered-table-cell'];

/**
 * Reads the text of an OpenDocument file: paragraphs, headings, tables, and what is beside the text.
 *
 * @param onParagraph receives each paragraph, shortened
 * @param isBody whether there is text that is not beside the text: not so in the entry of the styles
 */
export function openDocumentListener(
  sink: TextSink,
  {
    onParagraph = () => undefined,
    isBody = true,
  }: { onParagraph?: (text: string) => void; isBody?: boolean } = {},
): XmlListener {
  let level: number | undefined;
  /** Paragraphs that are open: text outside of them has no meaning. */
  let open = 0;
  let hidden = 0;
  let aside: { element: string; author: string } | undefined;
  let inAuthor = false;
  let inPictureTitle = false;

  function openElement(name: string, attributes: Record<string, string>): void {
    if (name === 'table') sink.openTable?.();
    if (name === 'table-row') sink.openRow?.();
    if (CELLS.includes(name)) sink.openCell?.(Number(attributes['table:number-columns-repeated'] ?? 1));
    if (name === 'p' || name === 'h') {
      // The paragraphs of a text box are inside of another one.
      if (open > 0 && !aside) sink.endParagraph();
      open += 1;
      if (name === 'h') level = Math.max(0, (Number(attributes['text:outline-level']) || 1) - 1);
    }
    if (name === 's' || name === 'tab' || name === 'line-break') sink.add(' ');
  }

  function closeElement(name: string): void {
    if (CELLS.includes(name)) sink.closeCell?.();
    if (name === 'table') sink.closeTable?.();
    if (name !== 'p' && name !== 'h') return;
    open -= 1;
    onParagraph(sink.endParagraph(name === 'h' ? level : undefined));
  }

  /** The date of a comment and the title of a picture are no text; a date and the title in the text are. */
  const isHidden = (name: string) =>
    HIDDEN.includes(name) || (name === 'date' && aside !== undefined) || (name === 'title' && inPictureTitle);

  return {
    open(name, attributes, tag) {
      if (name === 'title') inPictureTitle = tag === 'svg:title';
      if (isHidden(name)) hidden += 1;
      if (hidden > 0) return;
      const what = aside ? undefined : asideOf(name, attributes);
      if (what) {
        aside = { element: name, author: '' };
        sink.openAside(what);
      }
      inAuthor = name === 'creator' && aside !== undefined;
      openElement(name, attributes);
    },
    text(text) {
      if (hidden > 0) return;
      if (inAuthor && aside) aside.author = (aside.author + text).slice(0, KEPT);
      else if (open > 0 && (isBody || aside)) sink.add(text);
    },
    close(name) {
      inAuthor = false;
      if (isHidden(name)) hidden -= 1;
      else if (hidden > 0) return;
      else if (name === aside?.element) {
        sink.closeAside(aside.author.trim());
        aside = undefined;
      } else closeElement(name);
    },
  };
}

function asideOf(name: string, attributes: Record<string, string>): Aside | undefined {
  if (name === 'annotation') return 'comment';
  if (name === 'notes') return 'notes';
  if (name === 'note') return attributes['text:note-class'] === 'endnote' ? 'endnote' : 'footnote';
  const [, what] = /^(header|footer)(-left|-first)?$/.exec(name) ?? [];
  return what as Aside | undefined;
}
