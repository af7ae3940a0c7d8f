import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml } from './escape-html.js';
import { highlighted } from './highlight.js';
import { LONG_WORD } from './long-word.js';
import { MATH } from './math.js';
import { safeHtml } from './safe-html.js';

const marked = new Marked({
  gfm: true,
  extensions: [...MATH, LONG_WORD],
  renderer: {
    code({ text, lang = '' }: Tokens.Code) {
      const [language = ''] = lang.split(/\s/);
      const shown = highlighted(text, language) ?? escapeHtml(text);
      return `<pre><code class="language-${escapeHtml(language || 'text')}">${shown}</code></pre>\n`;
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

/** A piece of an answer between two blank lines or so: a paragraph, a list, a block of code. */
export interface Block {
  token: Token;
}

/** A link that is defined in another place than it is used. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

/**
 * The blocks of a text that grows. Only the last block is read again when something is added, so that long answers stay fast.
 */
export class MarkdownBlocks {
  #text = '';
  #isWhole = false;
  #closedLength = 0;
  readonly #closed: Block[] = [];
  #open: Block[] = [];

  /**
   * @param text begins with the text of the call before, or is another text
   * @param isGrowing whether the text has not ended
   */
  of(text: string, isGrowing: boolean): Block[] {
    const normal = text.replaceAll('\r', '');
    // At the end, links are shown that are defined after their use, or long before it.
    const isWhole = !isGrowing && DEFINITION.test(normal);
    if (isWhole !== this.#isWhole || !normal.startsWith(this.#text)) this.#reset();
    this.#isWhole = isWhole;
    if (normal !== this.#text) {
      this.#text = normal;
      this.#read();
    }
    return [...this.#closed, ...this.#open];
  }

  #reset(): void {
    this.#text = '';
    this.#closedLength = 0;
    this.#closed.length = 0;
    this.#open = [];
  }

  #read(): void {
    const tokens = tokensOf(this.#text.slice(this.#closedLength));
    const last = tokens.findLastIndex(({ type }) => type !== 'space');
    for (const token of tokens.slice(0, Math.max(0, last))) {
      this.#closedLength += token.raw.length;
      if (token.type !== 'space') this.#closed.push({ token });
    }
    this.#open = tokens
      .slice(Math.max(0, last))
      .flatMap((token) => (token.type === 'space' ? [] : [{ token }]));
  }
}

/** A text that cannot be read as Markdown, such as one that is nested too deep for the stack, is shown as it is. */
function tokensOf(text: string): Token[] {
  try {
    return marked.lexer(text);
  } catch {
    return [{ type: 'html', raw: text, text: plainText(text) }];
  }
}

/** The HTML of a block. It is safe to show, whatever the agent wrote. */
export function htmlOf({ token }: Block): string {
  try {
    return safeHtml(marked.parser([token]));
  } catch {
    return plainText(token.raw);
  }
}

function plainText(text: string): string {
  return `<p class="plain-text">${escapeHtml(text)}</p>`;
}
