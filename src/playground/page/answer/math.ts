import type { TokenizerAndRendererExtension, Tokens } from 'marked';
import { escapeHtml } from './escape-html.js';

/** A formula is left as the text that it is: Markdown would take its backslashes, asterisks and underscores for markup. */
const INLINE = /^(?:\$\$[^]+?\$\$|\\\([^]+?\\\)|\\\[[^]+?\\\]|\$(?![\s$])[^$\n]*?[^\s\\$]\$(?!\d))/;
const BLOCK = /^(?:\$\$[^]+?\$\$|\\\[[^]+?\\\])(?=\n|$)/;

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
    start: (source) => begin.exec(source)?.index,
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
