import { styleText } from 'node:util';
import type { Token, Tokens } from 'marked';
import { printable } from '../../printable.js';

/** What `styleText` of Node knows, as far as it is used here. */
type Style = 'bold' | 'italic' | 'underline' | 'strikethrough' | 'dim' | 'cyan';

/** How a terminal shows a text. */
export interface Look {
  /** Columns. */
  width: number;
  style: (styles: Style[], text: string) => string;
}

/** @param width columns of the terminal @param isStyled whether it shows styles and colours */
export function lookOf(width: number, isStyled: boolean): Look {
  return { width, style: (styles, text) => (isStyled ? styles.reduceRight(styled, text) : text) };
}

function styled(text: string, style: Style): string {
  // Whether styles are shown is known already.
  return styleText(style, text, { validateStream: false });
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' };

/** What is inside of a block, without its marks. */
export function inlineText(tokens: Token[], look: Look): string {
  return tokens.map((token) => spanText(token as Tokens.Generic, look)).join('');
}

function spanText(token: Tokens.Generic, look: Look): string {
  const inner = () => (token.tokens ? inlineText(token.tokens, look) : decoded(token.text as string));
  switch (token.type) {
    case 'strong':
      return look.style(['bold'], inner());
    case 'em':
      return look.style(['italic'], inner());
    case 'del':
      return look.style(['strikethrough'], inner());
    case 'codespan':
      return look.style(['cyan'], token.text as string);
    case 'br':
      return '\n';
    case 'checkbox':
      // The marker of the item has it.
      return '';
    case 'link':
    case 'image':
      return linkText(inner(), token['href'] as string, look);
    default:
      // A single line feed is a space in Markdown.
      return inner().replace(/\n/g, ' ');
  }
}

/** The whole address is shown: it is copied, and its text may say another one. */
function linkText(text: string, href: string, look: Look): string {
  const address = look.style(['underline'], href);
  return text === href || `mailto:${text}` === href ? address : `${text} (${address})`;
}

/** Entities of HTML, as far as agents write them. `marked` decodes those that are numbers, also of control characters. */
function decoded(text: string): string {
  return printable(text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => ENTITIES[name]!));
}
