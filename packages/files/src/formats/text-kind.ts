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
  const isTable = labels.table || (labels.none && hasTabs(name) && looksLikeTabs(text));
  return isTable ? 'table' : 'text';
}

/** The delimiter of a table of one column, or one of two that are possible. */
export function preferredDelimiter(name: string): string {
  return hasTabs(name) || /^(tsv|tab)$/.test(extensionOf(name)) ? '\t' : ',';
}

/** Whether programs that write a table with tabs give it such a name: `Unicode text` of Excel is one. */
function hasTabs(name: string): boolean {
  return ['txt', 'dat', 'xls'].includes(extensionOf(name));
}

/** Whether each line has the same number of tabs: of at least two lines, or three if it is one tab. */
function looksLikeTabs(text: string): boolean {
  const unquoted = text.slice(0, 16_384).replace(/(?<=^|[\t\r\n])"[^"]*(?:""[^"]*)*"(?=[\t\r\n]|$)/g, 'x');
  const lines = unquoted.replace(/^\ufeff/, '').split(/\r\n?|\n/);
  // The last line may be cut.
  if (text.length > 16_384) lines.pop();
  const tabs = lines.filter((line) => line.trim() !== '').map((line) => line.split('\t').length - 1);
  const [first = 0] = tabs;
  const hasNames = !/^\t|\t\t|\t$/.test(lines[0]!);
  return hasNames && first > 0 && tabs.length > (first > 1 ? 1 : 2) && tabs.every((each) => each === first);
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
