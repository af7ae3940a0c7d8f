/** A request that the agent offers: one click sends it. */
export interface Suggestion {
  text: string;
  /** What is shown in place of the text. */
  label: string | undefined;
  files: SuggestedFile[];
}

interface SuggestedFile {
  name: string;
  mimeType: string;
  size: number;
  content: Blob;
}

/** The contract has at most 8. */
const MOST = 8;

/** The suggestions in the data of an envelope. Entries of another form are left out. */
export function suggestionsOf({ items }: { items?: unknown }): Suggestion[] {
  return Array.isArray(items) ? items.slice(0, MOST).flatMap(suggestionOf) : [];
}

function suggestionOf(item: unknown): Suggestion[] {
  const { text, label, files = [] } = (item ?? {}) as Record<string, unknown>;
  if (!isFilled(text) || !Array.isArray(files)) return [];
  const read = files.flatMap(fileOf);
  // Without one of its files, the request would be another one.
  if (read.length < files.length) return [];
  return [{ text, label: isFilled(label) ? label : undefined, files: read }];
}

function fileOf(file: unknown): SuggestedFile[] {
  const { name, mimeType, base64 } = (file ?? {}) as Record<string, unknown>;
  if (!isFilled(name) || !isFilled(mimeType) || typeof base64 !== 'string') return [];
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return [{ name, mimeType, size: bytes.length, content: new Blob([bytes], { type: mimeType }) }];
  } catch {
    return [];
  }
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
