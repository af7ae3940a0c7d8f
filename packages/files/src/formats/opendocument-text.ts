import type { DocumentDigest } from './document-digest.js';
import type { XmlListener } from './xml.js';

/** Characters of a comment that are kept. */
const KEPT = 1000;

/** What is not the text itself: deleted text, dates of comments, and notes of a presentation. */
const ASIDE = ['tracked-changes', 'notes', 'date'];

/** What a merged cell covers has cells of its own. */
const CELLS = ['table-cell', 'covered-table-cell'];

/**
 * Reads the text of an OpenDocument file: paragraphs, headings, tables and comments.
 *
 * @param onParagraph receives each paragraph, shortened
 */
export function openDocumentListener(
  digest: DocumentDigest,
  onParagraph: (text: string) => void = () => undefined,
): XmlListener {
  let level: number | undefined;
  /** Paragraphs that are open: text outside of them has no meaning. */
  let open = 0;
  let aside = 0;
  let inAuthor = false;
  let comment: { author: string; text: string } | undefined;

  function openElement(name: string, attributes: Record<string, string>): void {
    if (name === 'table') digest.openTable();
    if (name === 'table-row') digest.openRow();
    if (CELLS.includes(name)) digest.openCell(Number(attributes['table:number-columns-repeated'] ?? 1));
    if (name === 'p' || name === 'h') open += 1;
    if (name === 'h') level = Math.max(0, (Number(attributes['text:outline-level']) || 1) - 1);
    if (name === 's' || name === 'tab' || name === 'line-break') digest.add(' ');
  }

  function closeElement(name: string): void {
    if (CELLS.includes(name)) digest.closeCell();
    if (name === 'table') digest.closeTable();
    if (name !== 'p' && name !== 'h') return;
    open -= 1;
    onParagraph(digest.endParagraph(name === 'h' ? level : undefined));
  }

  return {
    open(name, attributes) {
      if (ASIDE.includes(name)) aside += 1;
      if (aside > 0) return;
      if (name === 'annotation') comment = { author: '', text: '' };
      inAuthor = name === 'creator';
      if (!comment) openElement(name, attributes);
    },
    text(text) {
      if (aside > 0) return;
      if (!comment) {
        if (open > 0) digest.add(text);
      } else if (inAuthor) comment.author = (comment.author + text).slice(0, KEPT);
      else comment.text = (comment.text + text).slice(0, KEPT);
    },
    close(name) {
      inAuthor = false;
      if (ASIDE.includes(name)) aside -= 1;
      else if (aside > 0) return;
      else if (name === 'annotation' && comment) {
        digest.addComment(comment.author.trim(), comment.text.trim());
        comment = undefined;
      } else if (!comment) closeElement(name);
    },
  };
}
