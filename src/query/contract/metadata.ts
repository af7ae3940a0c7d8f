import type { FieldError } from 'nest-agent-query-client';
import { pointerTo } from './refusals.js';

/** The most keys, and the most characters (UTF-16 code units) of a key and of a value. */
export const METADATA = { keys: 16, keyLength: 64, valueLength: 512 };

/** What the caller says about a query, for lists of runs and for other programs. */
export type Metadata = Readonly<Record<string, string>>;

/** Every fault of metadata. @param pointer to the value, as a JSON Pointer */
export function faultsOfMetadata(value: unknown, pointer: string): FieldError[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ pointer, detail: 'must be an object' }];
  const entries = Object.entries(value);
  if (entries.length > METADATA.keys) return [{ pointer, detail: `must have at most ${METADATA.keys} keys` }];
  return entries.flatMap(([key, text]) => {
    const detail = faultOfEntry(key, text);
    return detail === undefined ? [] : [{ pointer: pointerTo(pointer, key), detail }];
  });
}

function faultOfEntry(key: string, text: unknown): string | undefined {
  const { keyLength, valueLength } = METADATA;
  if (key === '' || key.length > keyLength) return `must have a key of 1 to ${keyLength} characters`;
  if (typeof text !== 'string') return 'must be a string';
  return text.length > valueLength ? `must have at most ${valueLength} characters` : undefined;
}

/**
 * Whether a run has all these entries.
 *
 * @example
 * const listed = runs.filter((run) => hasMetadata(run, page.metadata));
 */
export function hasMetadata(
  { metadata = {} }: { metadata?: Metadata | undefined },
  entries: Metadata = {},
): boolean {
  return Object.entries(entries).every(
    ([key, text]) => Object.hasOwn(metadata, key) && metadata[key] === text,
  );
}
