import type { Envelope, Suggestion } from 'nest-agent-query-client';
import { printableLine } from './printable.js';
import { hasTexts } from './response-form.js';

/** The most suggestions that are shown, and characters of each. */
const MOST = 8;
const LENGTH = 200;

/** What the newest envelope `suggestions` offers. Entries of another form are left out. */
export function suggestionsOf(envelopes: readonly Envelope[]): Suggestion[] {
  const newest = envelopes.findLast(({ type }) => type === 'suggestions');
  const items = (newest?.data as { items?: unknown } | null | undefined)?.items;
  return Array.isArray(items) ? items.filter(isSuggestion).slice(0, MOST) : [];
}

function isSuggestion(item: unknown): item is Suggestion {
  if (!hasTexts(item, ['text'])) return false;
  const { label, files } = item as { label?: unknown; files?: unknown };
  if (label !== undefined && typeof label !== 'string') return false;
  if (files === undefined) return true;
  return Array.isArray(files) && files.every((file) => hasTexts(file, ['name', 'mimeType', 'base64']));
}

/** A numbered list for people. A text is shown with its label, because they may type it. */
export function textOfSuggestions(suggestions: Suggestion[]): string {
  const lines = suggestions.map(({ text, label, files = [] }, index) => {
    const names = files.length > 0 ? ` [${files.map(({ name }) => name).join(', ')}]` : '';
    const shown = label === undefined || label === text ? text : `${label}: ${text}`;
    return `\n  ${index + 1}. ${printableLine(shown + names, LENGTH)}`;
  });
  return `You can ask:${lines.join('')}`;
}
