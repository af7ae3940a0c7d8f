import type { TokenizerAndRendererExtension, Tokens } from 'marked';
import { escapeHtml } from './escape-html.js';

/** A text without spaces, such as Base64. Links and code may be long. */
const LONG = /^(?![[!`])[\x21-\x7e]{5000,}/;

/** Extension of marked. A long word is left as it is: the search for addresses and emphasis in it would hold the page up. */
export const LONG_WORD: TokenizerAndRendererExtension = {
  name: 'longWord',
  level: 'inline',
  tokenizer: (source) => {
    const [raw] = LONG.exec(source) ?? [];
    return raw === undefined ? undefined : { type: 'longWord', raw };
  },
  renderer: ({ raw }: Tokens.Generic) => escapeHtml(raw),
};
