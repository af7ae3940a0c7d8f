import type { Token, Tokens } from 'marked';
import type { Suggestion } from './suggestions.js';

/** A text that is code as a whole. */
const CODE = /^(`+) ?([^]*?) ?\1$/;

/** Whether a piece of Markdown is a list of suggestions and of nothing else: the page has them as buttons. */
export function repeats({ type, ...token }: Token, suggestions: readonly Suggestion[]): boolean {
  if (type !== 'list') return false;
  const offered = new Set(suggestions.flatMap(({ text, label = text }) => [text.trim(), label.trim()]));
  const { items } = token as Tokens.List;
  return items.every(({ text }) => offered.has(CODE.exec(text.trim())?.[2] ?? text.trim()));
}
