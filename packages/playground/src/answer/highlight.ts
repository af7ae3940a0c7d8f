import type { HLJSApi } from 'highlight.js';
import { Store } from '../state/store.js';

/** A longer text is shown without colours: it would hold the page up. */
const LONGEST = 20_000;

let library: HLJSApi | undefined;
let loading: Promise<void> | undefined;

/** Changes when the colours are there. They are loaded with the first code that is shown. */
class Highlighting extends Store {
  get isReady(): boolean {
    return library !== undefined;
  }
}

export const highlighting = new Highlighting();

/** Code as HTML with classes for its colours; undefined if it has none, or not yet. */
export function highlighted(code: string, language: string): string | undefined {
  if (language === '' || code.length > LONGEST) return undefined;
  if (!library) {
    loading ??= load();
    return undefined;
  }
  if (!library.getLanguage(language)) return undefined;
  return library.highlight(code, { language, ignoreIllegals: true }).value;
}

async function load(): Promise<void> {
  // Without colours, code can be read too.
  library = (await import('highlight.js/lib/common').catch(() => undefined))?.default;
  highlighting.changed();
}
