import type { LogSlice } from '../ports/run-store.js';

/** The most characters of slices that are joined: as many as one read returns. */
const JOINED_LENGTH = 64 * 1024;

/** What a slice has after a cursor; undefined if envelopes between them are missing, or if it has nothing new. */
export function sliceAfter(slice: LogSlice, cursor: number): LogSlice | undefined {
  const known = cursor + 1 - slice.first;
  if (known === 0) return slice;
  if (known < 0 || known >= slice.count) return undefined;
  const lines = slice.lines.split('\n').slice(known).join('\n');
  return { ...slice, first: cursor + 1, count: slice.count - known, lines };
}

/** Two slices as one; undefined if the second does not follow the first, or if they are too long together. */
export function joinedSlice(slice: LogSlice, next: LogSlice): LogSlice | undefined {
  const follows = next.first === slice.first + slice.count;
  if (!follows || slice.lines.length + next.lines.length > JOINED_LENGTH) return undefined;
  const lines = [slice, next].flatMap((it) => (it.count > 0 ? [it.lines] : [])).join('\n');
  return { ...next, first: slice.first, count: slice.count + next.count, lines };
}
