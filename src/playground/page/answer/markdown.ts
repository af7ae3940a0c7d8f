import DOMPurify from 'dompurify';
import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from './escape-html.js';
import { highlighted } from './highlight.js';
import { MATH } from './math.js';

const marked = new Marked({
  gfm: true,
  extensions: MATH,
  renderer: {
    code({ text, lang = '' }: Tokens.Code) {
      const [language = ''] = lang.split(/\s/);
      const shown = `<code class="language-${escapeHtml(language)}">${highlighted(text, language) ?? escapeHtml(text)}</code>`;
      const title = `<span class="language">${escapeHtml(language || 'text')}</span>`;
      return `<div class="code"><div class="code-head">${title}<button type="button" class="copy-code">Copy code</button></div><pre tabindex="0">${shown}</pre></div>\n`;
    },
    heading({ tokens, depth }: Tokens.Heading) {
      // Below the headings of the page, no level may be left out; agents leave out any.
      return `<h3 class="h${depth}">${this.parser.parseInline(tokens)}</h3>\n`;
    },
    // A picture of another host would tell it who reads the answer.
    image({ href, text }: Tokens.Image) {
      return `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`;
    },
    checkbox: ({ checked }: Tokens.Checkbox) => (checked ? '☑ ' : '☐ '),
  },
});

const ALLOWED = {
  ALLOWED_TAGS: [
    ...['a', 'abbr', 'b', 'blockquote', 'br', 'button', 'caption', 'code', 'dd', 'del', 'details', 'div'],
    ...['dl', 'dt', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'ins', 'kbd', 'li', 'mark', 'ol', 'p', 'pre'],
    ...['q', 's', 'samp', 'small', 'span', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'th'],
    ...['thead', 'tr', 'u', 'ul', 'var'],
  ],
  ALLOWED_ATTR: [
    'align',
    'class',
    'colspan',
    'href',
    'open',
    'rowspan',
    'start',
    'tabindex',
    'title',
    'type',
  ],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName !== 'A') return;
  // An address without a host would be one of this service.
  if (!/^(?:https?:|mailto:)/i.test(node.getAttribute('href') ?? '')) return node.removeAttribute('href');
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
});

/** A piece of an answer between two blank lines or so: a paragraph, a list, a block of code. */
export interface Block {
  source: string;
  token: Token;
}

/**
 * The blocks of a text that grows. Only the last block is read again when something is added, so that long answers stay fast.
 */
export class MarkdownBlocks {
  #text = '';
  #closedLength = 0;
  readonly #closed: Block[] = [];
  #open: Block[] = [];

  /** @param text begins with the text of the call before, or is another text */
  of(text: string): Block[] {
    const normal = text.replaceAll('\r', '');
    if (!normal.startsWith(this.#text)) this.#reset();
    if (normal !== this.#text || normal === '') {
      this.#text = normal;
      this.#read();
    }
    return [...this.#closed, ...this.#open];
  }

  #reset(): void {
    this.#closedLength = 0;
    this.#closed.length = 0;
    this.#open = [];
  }

  #read(): void {
    const tokens = marked.lexer(this.#text.slice(this.#closedLength));
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    for (const token of tokens.slice(0, Math.max(0, last))) {
      this.#closedLength += token.raw.length;
      if (token.type !== 'space') this.#closed.push({ source: token.raw, token });
    }
    this.#open = tokens
      .slice(Math.max(0, last))
      .flatMap((token) => (token.type === 'space' ? [] : [{ source: token.raw, token }]));
  }
}

/** The HTML of a block. It is safe to show, whatever the agent wrote. */
export function htmlOf({ token }: Block): string {
  const html = marked.parser([token]);
  const scrollable = html
    .replace(/<table>/g, '<div class="table" tabindex="0"><table>')
    .replace(/<\/table>/g, '</table></div>');
  return DOMPurify.sanitize(scrollable, ALLOWED);
}
