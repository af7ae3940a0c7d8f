import { rootTagOfSvg } from './svg.js';
import { extensionOf, languageOf } from './languages.js';

/** What kind of text a file is. */
export type TextKind = 'svg' | 'json' | 'table' | 'text';

/**
 * The kind of a text file: by what its text shows, and otherwise by the extension of its name or, if that is not known, by the
 * type that the caller declares.
 *
 * @param text how the file begins
 */
export function textKindOf({ name, mimeType }: { name: string; mimeType: string }, text: string): TextKind {
  if (rootTagOfSvg(text.trimStart()) !== undefined) return 'svg';
  const labels = labelsOf(name, mimeType);
  if (labels.json || (labels.none && looksLikeJson(text.trimStart()))) return 'json';
  return labels.table ? 'table' : 'text';
}

/** The kind of text that a file's extension states or, if the extension is not known, its declared type. */
function labelsOf(name: string, mimeType: string): { json: boolean; table: boolean; none: boolean } {
  const extension = extensionOf(name);
  const language = languageOf(name);
  if (language) return { json: language.name === 'JSON', table: false, none: false };
  if (['csv', 'tsv', 'tab', 'psv'].includes(extension)) return { json: false, table: true, none: false };
  const type = mimeType.split(';')[0]!.trim().toLowerCase();
  const json = /^application\/(.+\+)?(json|x-ndjson|ndjson|jsonl|json-seq)$/.test(type);
  const table = /^text\/(csv|tab-separated-values)$/.test(type);
  return { json, table, none: !json && !table };
}

function looksLikeJson(text: string): boolean {
  return (
    /^(\{\s*("|\}\s*$)|\[\s*([[{"\d-]|\]\s*$))/.test(text.slice(0, 1000)) && !/^\[[^\]"{[]*\]\s*\S/.test(text)
  );
}
