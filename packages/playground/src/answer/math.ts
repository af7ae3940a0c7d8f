import type { TokenizerAndRendererExtension, Tokens } from 'marked';
import { escapeHtml } from './escape-html.js';

/** How far ahead the beginning of a formula is looked for, in characters. To the end, each word of a long answer would cost as much as the answer. */
const AHEAD = 2000;

/** A formula is left as the text that it is: Markdown would take its backslashes, asterisks and underscores for markup. */
const INLINE =
  /^(?:\$\$[^]{1,5000}?\$\$|\\\([^]{1,5000}?\\\)|\\\[[^]{1,5000}?\\\]|\$(?![\s$])[^$\n]{0,5000}?[^\s\\$]\$(?!\d))/;
const BLOCK = /^(?:\$\$[^]{1,5000}?\$\$|\\\[[^]{1,5000}?\\\])(?=\n|$)/;

function formula(
  name: string,
  level: 'inline' | 'block',
  begin: RegExp,
  whole: RegExp,
  tag: string,
): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: (source) => begin.exec(source.slice(0, AHEAD))?.index,
    tokenizer: (source) => {
      const [raw] = whole.exec(source) ?? [];
      return raw === undefined ? undefined : { type: name, raw };
    },
    renderer: ({ raw }: Tokens.Generic) => `<${tag} class="math">${escapeHtml(raw)}</${tag}>`,
  };
}

/** Extensions of marked. */
export const MATH = [
  formula('mathBlock', 'block', /(?<=\n)(?:\$\$|\\\[)/, BLOCK, 'p'),
  formula('mathInline', 'inline', /\$|\\[([]/, INLINE, 'span'),
];
