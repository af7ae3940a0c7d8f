import type { Token, Tokens } from 'marked';
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { inlineText, type Look } from './inline.js';
import { tableText } from './table-text.js';

const CODE_INDENT = '    ';
/** However deep lists and quotations are, a text keeps so many columns. */
const LEAST_WIDTH = 20;

/** Blocks of Markdown as lines of a terminal, with a blank line between them. */
export function blocksText(blocks: Token[], look: Look): string {
  const texts = blocks.map((block) => [block.type, blockText(block, look)] as const);
  return texts
    .filter(([, text]) => text !== '')
    .map(([type, text], index) => (index === 0 ? '' : type === 'list' ? '\n' : '\n\n') + text)
    .join('');
}

/** A block of Markdown as lines of a terminal, the last one without its end. Empty for what is not shown. */
export function blockText(block: Token, look: Look): string {
  const token = block as Tokens.Generic;
  switch (token.type) {
    case 'space':
    case 'checkbox':
      return '';
    case 'heading':
      return wrapped(
        look.style(token['depth'] === 1 ? ['bold', 'underline'] : ['bold'], inlineOf(token, look)),
        look,
      );
    case 'code':
      return codeText(token.text as string, look);
    case 'hr':
      return look.style(['dim'], '─'.repeat(Math.min(look.width, 40)));
    case 'blockquote': {
      const inner = blocksText(token.tokens!, narrower(look, 2));
      return inner.replace(/^/gm, `${look.style(['dim'], '│')} `);
    }
    case 'list':
      return listText(token as Tokens.List, look);
    case 'table':
      return tableText(token as Tokens.Table, look);
    case 'html':
    case 'def':
      return wrapped(token.raw.trimEnd(), look);
    default:
      return wrapped(inlineOf(token, look), look);
  }
}

function inlineOf({ tokens, text }: Tokens.Generic, look: Look): string {
  return tokens ? inlineText(tokens, look) : (text as string);
}

function codeText(code: string, look: Look): string {
  return code.replace(/\n+$/, '').replace(/^.+$/gm, (line) => CODE_INDENT + look.style(['cyan'], line));
}

function listText({ items, ordered, start }: Tokens.List, look: Look): string {
  return items
    .map((item, index) => {
      const box = item.task ? (item.checked ? '[x] ' : '[ ] ') : '';
      const marker = (ordered ? `${Number(start) + index}. ` : '• ') + box;
      const room = stringWidth(marker);
      const lines = blocksText(item.tokens, narrower(look, room)).split('\n');
      return lines.map((line, at) => `${at === 0 ? marker : ' '.repeat(room)}${line}`.trimEnd()).join('\n');
    })
    .join('\n');
}

function narrower(look: Look, by: number): Look {
  return { ...look, width: Math.max(LEAST_WIDTH, look.width - by) };
}

function wrapped(text: string, { width }: Look): string {
  return wrapAnsi(text, width);
}
